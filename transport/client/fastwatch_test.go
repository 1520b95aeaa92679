package client

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/wire"
	"troupe/transport/transporttest/memnet"
)

// heartbeat is a path to a host that answers when answers returns true.
type heartbeat struct {
	f       *fastChannel
	answers func() bool
	asked   int
}

func (p *heartbeat) write([]byte) bool {
	p.asked++
	if p.answers() {
		go func() {
			p.f.fresh(p.f.highest + 1)
			p.f.answer(wire.OpServerAck, true)
		}()
	}
	return true
}

func (p *heartbeat) close() {}

// runProbes runs a watch, and returns its error and how long it took. It ends the connection
// after the limit.
func runProbes(t *testing.T, h *fakeHost, v probePolicy, answers func() bool, limit time.Duration) (p *heartbeat, took time.Duration, err error) {
	t.Helper()
	c := h.dial(Options{})
	defer c.Close()
	f := &fastChannel{c: c.current.Load(), highest: -1}
	p = &heartbeat{f: f, answers: answers}
	if !f.open(p, wire.OpServerAck) || f.answer(wire.OpServerAck, true) || !f.up() {
		t.Fatal("not up")
	}
	began, over := time.Now(), make(chan error, 1)
	go func() {
		over <- f.watch(v, nil, func(dst []byte, seq int32) []byte { return wire.AppendUDPConnect(dst, 7, seq) })
	}()
	select {
	case err = <-over:
	case <-time.After(limit):
		f.c.link.abort()
		err = <-over
	}
	took = time.Since(began)
	synctest.Wait()
	return p, took, err
}

func TestWatch(t *testing.T) {
	never := func() bool { return false }
	for name, v := range map[string]struct {
		probePolicy
		within time.Duration
	}{"udp": {udpProbes, 3500 * time.Millisecond}, "dtls": {dtlsProbes, 2800 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			with(t, func(t *testing.T, h *fakeHost) {
				p, took, err := runProbes(t, h, v.probePolicy, never, time.Minute)
				if !errors.Is(err, ErrFastSilent) || took > v.within || took < 2*time.Second || p.asked != v.most {
					t.Errorf("a dead way: %v after %v and %d questions", err, took, p.asked)
				}
			})
			with(t, func(t *testing.T, h *fakeHost) {
				p, took, err := runProbes(t, h, v.probePolicy, func() bool { return true }, time.Hour)
				if err != nil || took != time.Hour || p.asked > int(time.Hour/v.quiet) {
					t.Errorf("a host that answers: %v after %v and %d questions", err, took, p.asked)
				}
			})
			with(t, func(t *testing.T, h *fakeHost) {
				n := 0
				p, took, err := runProbes(t, h, v.probePolicy, func() bool { n++; return n%v.most == 0 }, time.Hour)
				if err != nil || took != time.Hour {
					t.Errorf("a host that answers one question of %d: %v after %v and %d questions", v.most, err, took, p.asked)
				}
			})
			with(t, func(t *testing.T, h *fakeHost) {
				h.caps = 0
				p, took, err := runProbes(t, h, v.probePolicy, never, time.Hour)
				if err != nil || took != time.Hour || p.asked == 0 {
					t.Errorf("a host that may answer once only: %v after %v and %d questions", err, took, p.asked)
				}
			})
			with(t, func(t *testing.T, h *fakeHost) {
				h.caps = 0
				began := time.Now()
				_, took, err := runProbes(t, h, v.probePolicy, func() bool { return time.Since(began) < 10*time.Second }, time.Hour)
				if !errors.Is(err, ErrFastSilent) || took > 10*time.Second+v.within {
					t.Errorf("a host that answered before: %v after %v", err, took)
				}
			})
		})
	}
}

// The plain UDP channel comes back after the interface was gone for a while, and a socket could not even be opened: once a
// second the client tries.
func TestUDPComesBack(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		network := memnet.New(1)
		defer network.Close()
		tcp, err := network.Machine().Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		link, err := network.Machine().DialContext(t.Context(), "tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		server, err := network.Machine().ListenPacket("udp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		var gone atomic.Bool
		var tries atomic.Int32
		go func() {
			b := make([]byte, 2048)
			for seq := int32(0); ; {
				n, from, err := server.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				var h wire.Header
				if parse(&h, b[:n]) == nil && h.OpCode == wire.OpUDPConnect && !gone.Load() {
					_, _ = server.WriteToUDPAddrPort(wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpServerAck, Sender: Server, Sequence: seq}), from)
					seq++
				}
			}
		}()
		c := h.dial(Options{DialContext: func(ctx context.Context, kind string, local netip.Addr, address string) (net.Conn, error) {
			if gone.Load() {
				tries.Add(1)
				return nil, syscall.ENETUNREACH
			}
			return network.Machine().Dial(ctx, kind, local, address)
		}})
		defer c.Close()
		cn := c.current.Load()
		cn.fast = &fastChannel{c: cn, highest: -1}
		cn.spawn(func() { cn.fast.runUDP(link, server.LocalAddr().(*net.UDPAddr).Port) })
		synctest.Wait()
		gone.Store(true)
		pass(10*time.Second + 3400*time.Millisecond)
		gone.Store(false)
		pass(time.Second)
		want(t, "the player", events(c), "fast up", "fast down", "fast up")
		if n := tries.Load(); n != 11 { // at once, and then every second
			t.Errorf("%d tries", n)
		}
	})
}

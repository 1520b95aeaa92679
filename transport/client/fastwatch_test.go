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

// heartbeat is a path to a host that answers if answers returns true.
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

// runProbes runs watch and returns its error and how long it took. After limit it ends the connection.
func runProbes(t *testing.T, h *fakeHost, v probePolicy, answers func() bool, limit time.Duration) (p *heartbeat, took time.Duration, err error) {
	t.Helper()
	c := h.dial(Options{})
	defer c.Close()
	f := &fastChannel{c: c.current.Load(), highest: -1}
	p = &heartbeat{f: f, answers: answers}
	if !f.open(&fastPath{p.write, p.close}, wire.OpServerAck) || f.answer(wire.OpServerAck, true) || !f.up() {
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
	for over, v := range map[string]struct {
		probePolicy
		within time.Duration
	}{"udp": {udpProbes, 3500 * time.Millisecond}, "dtls": {dtlsProbes, 2800 * time.Millisecond}} {
		for name, c := range map[string]struct {
			answers     func(asked int, since time.Duration) bool
			once        bool          // the host may answer only once
			dead        time.Duration // when the host's last datagram arrives; -1 for no end
			most, least int           // number of probes
		}{
			"a dead way":           {answers: func(int, time.Duration) bool { return false }, most: v.most, least: v.most},
			"answers":              {answers: func(int, time.Duration) bool { return true }, dead: -1, most: int(time.Hour / v.quiet)},
			"answers seldom":       {answers: func(asked int, _ time.Duration) bool { return asked%v.most == 0 }, dead: -1, most: 1 << 20},
			"may answer once only": {answers: func(int, time.Duration) bool { return false }, once: true, dead: -1, most: 1 << 20, least: 1},
			"answered before":      {answers: func(_ int, since time.Duration) bool { return since < 10*time.Second }, once: true, dead: 10 * time.Second, most: 1 << 20},
		} {
			withNamed(t, over+": "+name, func(t *testing.T, h *fakeHost) {
				if c.once {
					h.caps = 0
				}
				began, asked := time.Now(), 0
				p, took, err := runProbes(t, h, v.probePolicy, func() bool { asked++; return c.answers(asked, time.Since(began)) }, time.Hour)
				if alive := c.dead < 0; alive != (err == nil) || alive && took != time.Hour || !alive && (!errors.Is(err, ErrFastSilent) || took < 2*time.Second || took > c.dead+v.within) {
					t.Errorf("%v after %v", err, took)
				}
				if p.asked < c.least || p.asked > c.most {
					t.Errorf("%d questions", p.asked)
				}
			})
		}
	}
}

// The plain UDP channel comes back after the network interface was gone for a while and no socket could
// be opened. The client tries once a second.
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
		if n := tries.Load(); n != 11 { // one at once, then one every second
			t.Errorf("%d tries", n)
		}
	})
}

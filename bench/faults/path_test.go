package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// patience only bounds a hang.
const patience = time.Minute

// virtual is a path in an in-memory network. The player's connections to a host go through it.
type virtual struct {
	t        *testing.T
	network  memnet.Machine
	path     *Path
	listener net.Listener
}

// onAPath runs a test with a path in virtual time.
func onAPath(t *testing.T, test func(t *testing.T, v *virtual)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		v := &virtual{t: t, network: n.Machine()}
		var err error
		if v.listener, err = v.network.Listen("tcp", "127.0.0.1:0"); err == nil {
			v.path, err = ListenPath(v.network, "127.0.0.1:0", 1, 0, v.listener.Addr().String(), "")
		}
		if err != nil {
			t.Fatal(err)
		}
		test(t, v)
		if err := errors.Join(v.path.Close(), v.listener.Close()); err != nil {
			t.Error(err)
		}
		n.Close()
	})
}

// connect returns both sides of a connection through the path.
func (v *virtual) connect() (player, host net.Conn) {
	v.t.Helper()
	player, err := v.network.DialContext(v.t.Context(), "tcp", v.path.TCP())
	if err != nil {
		v.t.Fatal(err)
	}
	if host, err = v.listener.Accept(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { player.Close(); host.Close() })
	return player, host
}

// passes sends a text and returns how long it took to arrive.
func passes(t *testing.T, from, to net.Conn, text []byte) time.Duration {
	t.Helper()
	began := time.Now()
	go func() { _, _ = from.Write(text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%v", err)
	}
	return time.Since(began)
}

// silent fails if data arrives within an hour of virtual time.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Hour))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
	_ = c.SetReadDeadline(time.Time{})
}

func isReset(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}

func TestStreamPasses(t *testing.T) {
	t.Parallel()
	onAPath(t, func(t *testing.T, v *virtual) {
		text := make([]byte, 20_000)
		for i := range text {
			text[i] = byte(i * i >> 3)
		}
		const delay = 5 * time.Millisecond
		for _, c := range []struct {
			Conditions
			want time.Duration
		}{
			{Conditions{}, 0},
			{Conditions{Delay: Duration(delay)}, delay},
			{Conditions{Delay: Duration(delay), Loss: 1}, delay + tcpPause},
			{Conditions{Rate: 10_000}, 2 * time.Second},
			{Conditions{Rate: 10_000, Delay: Duration(delay)}, 2*time.Second + delay},
		} {
			player, host := v.connect()
			end := v.path.Begin(Event{Fault: Link, Conditions: c.Conditions})
			if took := passes(t, player, host, text); took != c.want {
				t.Errorf("%+v: it took %v, want %v", c.Conditions, took, c.want)
			}
			end()
			if took := passes(t, host, player, text); took != 0 {
				t.Errorf("%+v: it took %v after the end", c.Conditions, took)
			}
		}
		player, host := v.connect()
		if err := player.(*memnet.Stream).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := host.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%d, %v", n, err)
		}
		passes(t, host, player, text) // this direction is still open
	})
}

func TestStreamWaitsForSilence(t *testing.T) {
	t.Parallel()
	onAPath(t, func(t *testing.T, v *virtual) {
		player, host := v.connect()
		end := v.path.Begin(Event{Fault: Silence})
		if _, err := player.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		silent(t, host)
		over := time.Now()
		end()
		got := make([]byte, 4)
		if _, err := io.ReadFull(host, got); err != nil || string(got) != "late" || time.Since(over) != 0 {
			t.Errorf("%q, %v, %v after the end", got, err, time.Since(over))
		}
		end = v.path.Begin(Event{Fault: Silence, Conditions: Conditions{Direction: "down"}})
		defer end()
		passes(t, player, host, []byte("up passes"))
		if _, err := host.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		silent(t, player)
	})
}

func TestStreamIsCut(t *testing.T) {
	t.Parallel()
	onAPath(t, func(t *testing.T, v *virtual) {
		player, host := v.connect()
		v.path.Begin(Event{Fault: Reset})
		isReset(t, player)
		isReset(t, host)
		player, host = v.connect()
		v.path.Begin(Event{Fault: Handover})
		isReset(t, player)
		silent(t, host)
		player, host = v.connect()
		v.path.Begin(Event{Fault: Rebind})
		if _, err := player.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		silent(t, player)
		silent(t, host)
		player, host = v.connect() // a new connection works
		passes(t, player, host, []byte("hello"))
	})
}

// echoes starts a TCP and a UDP echo server. A UDP answer is the sender's address.
func echoes(t *testing.T, on transport.Network) (tcp, udp string, accepted chan net.Conn) {
	t.Helper()
	listener, err := on.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := on.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close(); socket.Close() })
	accepted = make(chan net.Conn, 16)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	go func() {
		b := make([]byte, 1500)
		for {
			_, from, err := socket.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = socket.WriteToUDPAddrPort([]byte(from.String()), from)
		}
	}()
	return listener.Addr().String(), socket.LocalAddr().String(), accepted
}

// With real sockets: after a reset, the connection is reset and datagrams arrive from another port.
func TestPathOfTheKernel(t *testing.T) {
	t.Parallel()
	tcp, udp, accepted := echoes(t, transport.System)
	p, err := ListenPath(nil, "127.0.0.1:0", 1, 0, tcp, udp)
	if err != nil {
		t.Fatal(err)
	}
	player, err := net.Dial("tcp", p.TCP())
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	host := <-accepted
	defer host.Close()
	datagrams, err := net.Dial("udp", p.UDP())
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	for _, c := range []net.Conn{player, host, datagrams} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	from := func() string {
		t.Helper()
		b := make([]byte, 64)
		_, err := datagrams.Write([]byte("x"))
		n := 0
		if err == nil {
			n, err = datagrams.Read(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	passes(t, player, host, []byte("hello"))
	first := from()
	if again := from(); again != first {
		t.Errorf("from %s, then from %s", first, again)
	}
	p.Begin(Event{Fault: Reset})
	isReset(t, player)
	isReset(t, host)
	if now := from(); now == first {
		t.Errorf("still from %s", now)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Overlapping conditions are combined, and each ends on its own.
func TestConditionsOverlap(t *testing.T) {
	t.Parallel()
	d := newDirection(1, 0)
	one, two := &Conditions{Delay: 1, Loss: 0.5, Rate: 10}, &Conditions{Delay: 2, Loss: 0.5, Rate: 20, silent: true}
	d.begin(one)
	d.begin(two)
	if want := (Conditions{Delay: 3, Loss: 0.75, Rate: 10, silent: true}); d.now != want {
		t.Errorf("%+v", d.now)
	}
	d.end(one)
	if want := (Conditions{Delay: 2, Loss: 0.5, Rate: 20, silent: true}); d.now != want {
		t.Errorf("%+v", d.now)
	}
	d.end(two)
	if d.now != (Conditions{}) {
		t.Errorf("%+v", d.now)
	}
}

// A plan starts with the first connection. When it is over, everything passes.
func TestProxy(t *testing.T) { synctest.Test(t, proxy) }

func proxy(t *testing.T) {
	network := memnet.New(1)
	t.Cleanup(network.Close)
	at := network.Machine()
	tcp, udp, accepted := echoes(t, at)
	plan, err := Parse([]byte("name: p\nfaults:\n- {at: 10ms, fault: silence, target: all, for: 10ms, direction: up}\n- {at: 30ms, fault: reset, target: one}\n"))
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := Proxy(ctx, ProxyOptions{Plan: plan, Seed: 3, Players: 1, Listen: "127.0.0.1:0", TCP: tcp, UDP: udp, PlayerSessions: []string{"psess-1"}, Out: write, Network: at})
		ended <- errors.Join(err, write.Close())
	}()
	lines := bufio.NewScanner(read)
	next := func(pattern string) []string {
		t.Helper()
		lines.Scan()
		m := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("%q is not %s", lines.Text(), pattern)
		}
		return m
	}
	where := next(`player 0: (\S+), kcp (\S+), player session psess-1`)
	next("p, seed 3: the plan begins with the first connection and takes 30ms; Ctrl-C ends it")
	c, err := at.DialContext(t.Context(), "udp", where[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	next(` +0\.000 s  the plan begins`)
	next(` +0\.010 s  silence of player 0 for 10ms: to the host only`)
	next(` +0\.020 s  silence of player 0 is over`)
	next(` +0\.030 s  reset of player 0`)
	next(` +0\.030 s  the plan is over; everything passes`)
	player, err := at.DialContext(t.Context(), "tcp", where[1])
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	host := <-accepted
	defer host.Close()
	passes(t, player, host, []byte("hello"))
	stop()
	if lines.Scan() {
		t.Errorf("%q", lines.Text())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

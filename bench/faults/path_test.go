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
	"time"
)

const patience = time.Minute

// echoes are a TCP and a UDP server that send back what they receive. UDP answers are preceded by the sender's port.
func echoes(t *testing.T) (tcp, udp string, accepted chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
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
			n, from, err := socket.ReadFromUDP(b)
			if err != nil {
				return
			}
			_, _ = socket.WriteToUDP(append([]byte(from.String()+" "), b[:n]...), from)
		}
	}()
	return listener.Addr().String(), socket.LocalAddr().String(), accepted
}

func newPath(t *testing.T) (*Path, chan net.Conn) {
	t.Helper()
	tcp, udp, accepted := echoes(t)
	p, err := NewPath(1, 0, tcp, udp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, accepted
}

// connect returns both sides of a connection through the path.
func connect(t *testing.T, p *Path, accepted chan net.Conn) (player, host net.Conn) {
	t.Helper()
	player, err := net.Dial("tcp", p.TCP())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case host = <-accepted:
	case <-time.After(patience):
		t.Fatal("no connection")
	}
	t.Cleanup(func() { player.Close(); host.Close() })
	for _, c := range []net.Conn{player, host} {
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	return player, host
}

func passes(t *testing.T, from, to net.Conn, text []byte) {
	t.Helper()
	go func() { _, _ = from.Write(text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%v", err)
	}
}

// stays fails if something arrives within a moment. What arrives later would be no failure, so a slow machine is none either.
func stays(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
}

func TestStreamPasses(t *testing.T) {
	t.Parallel()
	p, accepted := newPath(t)
	end := p.Begin(Event{Fault: Link, Conditions: Conditions{Delay: Duration(5 * time.Millisecond), Jitter: Duration(5 * time.Millisecond), Loss: 0.1}})
	player, host := connect(t, p, accepted)
	text := make([]byte, 20_000)
	for i := range text {
		text[i] = byte(i * i >> 3)
	}
	passes(t, player, host, text)
	end()
	passes(t, host, player, text)
	if err := player.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := host.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
	passes(t, host, player, text) // its direction is still open
}

func TestStreamWaitsForSilence(t *testing.T) {
	t.Parallel()
	p, accepted := newPath(t)
	player, host := connect(t, p, accepted)
	end := p.Begin(Event{Fault: Silence})
	if _, err := player.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	stays(t, host)
	end()
	got := make([]byte, 4)
	if _, err := io.ReadFull(host, got); err != nil || string(got) != "late" {
		t.Errorf("%q, %v", got, err)
	}
	end = p.Begin(Event{Fault: Silence, Conditions: Conditions{Direction: "down"}})
	defer end()
	passes(t, player, host, []byte("up passes"))
	if _, err := host.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	stays(t, player)
}

func TestStreamIsCut(t *testing.T) {
	t.Parallel()
	reset := func(c net.Conn) {
		t.Helper()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v, want a reset", err)
		}
	}
	p, accepted := newPath(t)
	player, host := connect(t, p, accepted)
	p.Begin(Event{Fault: Reset})
	reset(player)
	reset(host)
	player, host = connect(t, p, accepted)
	p.Begin(Event{Fault: Handover})
	reset(player)
	stays(t, host)
	player, host = connect(t, p, accepted)
	p.Begin(Event{Fault: Rebind})
	if _, err := player.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	stays(t, player)
	stays(t, host)
	player, host = connect(t, p, accepted) // a new one works
	passes(t, player, host, []byte("hello"))
}

// ask sends a datagram until it is answered or the time is over, and returns from which address the host saw it. Each text is asked once:
// answers to others come late and are left out.
func ask(t *testing.T, c net.Conn, text string, limit time.Duration) (from string) {
	t.Helper()
	b := make([]byte, 1500)
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := c.Read(b)
			if err != nil {
				break
			}
			if from, got, _ := bytes.Cut(b[:n], []byte(" ")); string(got) == text {
				return string(from)
			}
		}
	}
	return ""
}

func TestDatagrams(t *testing.T) {
	t.Parallel()
	const moment = 50 * time.Millisecond
	p, _ := newPath(t)
	c, err := net.Dial("udp", p.UDP())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := ask(t, c, "first", patience)
	if first == "" {
		t.Fatal("no answer")
	}
	for _, e := range []Event{{Fault: Silence}, {Fault: Link, Conditions: Conditions{Loss: 1}}} {
		end := p.Begin(e)
		if ask(t, c, "lost "+string(e.Fault), moment) != "" {
			t.Errorf("%s: it passed", e.Fault)
		}
		end()
	}
	end := p.Begin(Event{Fault: Link, Conditions: Conditions{Loss: 0.2, Delay: Duration(time.Millisecond), Jitter: Duration(time.Millisecond), Rate: 100_000}})
	if again := ask(t, c, "delayed", patience); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	end()
	p.Begin(Event{Fault: Rebind})
	if other := ask(t, c, "rebound", patience); other == "" || other == first {
		t.Errorf("%s, then %q", first, other)
	}
}

// Conditions that overlap add up, and end one by one.
// A path may have datagrams come twice, or drop those that are too large.
// RL-104, RL-106.
func TestDatagramsComeTwiceOrNotAtAll(t *testing.T) {
	t.Parallel()
	p, _ := newPath(t)
	c, err := net.Dial("udp", p.UDP())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	twice := p.Begin(Event{Fault: Link, Conditions: Conditions{Direction: "up", Duplicate: 1}})
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1500)
	for range 2 {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if n, err := c.Read(b); err != nil || !bytes.HasSuffix(b[:n], []byte(" hello")) {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
	twice()
	over := p.Begin(Event{Fault: Link, Conditions: Conditions{Direction: "up", MTU: 100}})
	defer over()
	for _, size := range []int{73, 72} { // with 28 bytes of headers: one too many, and just enough
		if _, err := c.Write(bytes.Repeat([]byte{'x'}, size)); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	n, err := c.Read(b)
	if _, text, _ := bytes.Cut(b[:n], []byte(" ")); err != nil || len(text) != 72 {
		t.Errorf("%d bytes came first, %v", len(text), err)
	}
}

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

// A plan begins with the first connection, and when it is over everything passes.
func TestProxy(t *testing.T) {
	t.Parallel()
	tcp, udp, accepted := echoes(t)
	plan, err := Parse([]byte("name: p\nfaults:\n- {at: 10ms, fault: silence, target: all, for: 10ms, direction: up}\n- {at: 30ms, fault: reset, target: one}\n"))
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := Proxy(ctx, ProxyOptions{Plan: plan, Seed: 3, Players: 1, Listen: "127.0.0.1:0", TCP: tcp, UDP: udp, PlayerSessions: []string{"psess-1"}, Out: write})
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
	c, err := net.Dial("udp", where[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	next(` +\d\.\d+ s  the plan begins`)
	next(` +\d\.\d+ s  silence of player 0 for 10ms: to the host only`)
	next(` +\d\.\d+ s  silence of player 0 is over`)
	next(` +\d\.\d+ s  reset of player 0`)
	next(` +\d\.\d+ s  the plan is over; everything passes`)
	player, err := net.Dial("tcp", where[1])
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

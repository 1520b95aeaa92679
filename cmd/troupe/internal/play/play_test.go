package play

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/tlsconf"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The actor library's dead letters start a goroutine of one second, which the
		// end of the tests does not wait for.
		goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

const patience = time.Minute

func startHost(t *testing.T, change func(*host.Config)) *host.Host {
	t.Helper()
	c := host.Defaults()
	c.API.Addr, c.WebSocket.Addr, c.Fast.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = t.TempDir()
	if change != nil {
		change(&c)
	}
	h, err := host.Start(host.Options{Config: c, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func options(h *host.Host) Options {
	return Options{API: "http://" + h.Addrs().API, Region: "us-east-1", Fleet: "fleet-dev"}
}

func until(t *testing.T, what string, why func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := why()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// proxy stands in the way of WebSockets, on another loopback address with the
// host's port: it can cut connections and let none through.
type proxy struct {
	l    net.Listener
	to   string
	work sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool // to new connections
}

const proxyIP = "127.0.0.2"

// startProxied starts a host that tells players the proxy's address. With secure
// the proxy is to be spoken to over TLS.
func startProxied(t *testing.T, secure *tls.Config) (*host.Host, *proxy) {
	t.Helper()
	h := startHost(t, func(c *host.Config) { c.Public.IP = proxyIP })
	_, port, _ := net.SplitHostPort(h.Addrs().WS)
	l, err := net.Listen("tcp", net.JoinHostPort(proxyIP, port))
	if err != nil {
		t.Skipf("no second loopback address here: %v", err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	p := &proxy{l: l, to: h.Addrs().WS}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.work.Wait()
	})
	return h, p
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		p.mu.Lock()
		if err != nil || p.closed {
			in.Close()
			if err == nil {
				out.Close()
			}
		} else {
			p.conns = append(p.conns, in, out)
			p.work.Go(func() { io.Copy(in, out); in.Close() })
			p.work.Go(func() { io.Copy(out, in); out.Close() })
		}
		p.mu.Unlock()
	}
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) close(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = closed
}

func (p *proxy) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

// screen is an output that can be read while it is written.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	until(t, "the screen shows "+text, func() error {
		if !strings.Contains(s.String(), text) {
			return errors.New(s.String())
		}
		return nil
	})
}

func TestBotsComeBack(t *testing.T) {
	h, p := startProxied(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out screen
	over := make(chan error, 1)
	go func() { over <- Bots(ctx, BotOptions{Options: options(h), Bots: 3, Rate: 50}, &out) }()
	until(t, "bots are connected", func() error {
		if n := p.open(); n < 3 {
			return fmt.Errorf("%d of 3", n)
		}
		return nil
	})
	out.await(t, "3 bots joined")
	out.await(t, " 1s  bots 3 ") // in full swing
	p.cut()
	until(t, "all are back", func() error {
		if n := strings.Count(out.String(), "the same peer as before"); n < 3 {
			return fmt.Errorf("%d of 3:\n%s", n, out.String())
		}
		return nil
	})
	stop()
	if err := <-over; err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if text := out.String(); !strings.Contains(text, "connections lost 3, reconnects 3 (as a new peer 0)") || !strings.Contains(text, "connection lost: ") {
		t.Errorf("output:\n%s", text)
	}
}

// TestBotsCutTheirNetworks: whatever they do to their own connections, everything
// reliable arrives once.
func TestBotsCutTheirNetworks(t *testing.T) {
	h := startHost(t, func(c *host.Config) {
		c.Limits.ConnectionsPerIPPerSecond, c.Limits.LoginsPerPlayerSessionPerMinute = 0, 0
	})
	var out screen
	o := options(h)
	o.Drop, o.For = 500*time.Millisecond, 100*time.Millisecond
	if err := Bots(t.Context(), BotOptions{Options: o, Bots: 3, Rate: 100, Duration: 2 * time.Second}, &out); err != nil {
		t.Error(err)
	}
	text := out.String()
	for _, want := range []string{"attempt 1, over ws", "sent again", "of ", "as a new peer 0", "not sent while away 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the output", want)
		}
	}
	if strings.Contains(text, "reconnects 0 (") || t.Failed() {
		t.Errorf("output:\n%s", text)
	}
}

func TestChatComesBack(t *testing.T) {
	h, p := startProxied(t, nil)
	in, typed := io.Pipe()
	defer typed.Close()
	var out screen
	over := make(chan error, 1)
	o := options(h)
	o.Player, o.Group = "ann", 3
	go func() { over <- Chat(t.Context(), o, in, &out) }()
	out.await(t, "as peer 1, player ann")
	out.await(t, "group 3: peers 1")
	fmt.Fprintln(typed, "one")
	out.await(t, "peer 1 to all: one\n")
	p.close(true)
	p.cut()
	out.await(t, "trying to come back")
	fmt.Fprintln(typed, "two")
	p.close(false)
	out.await(t, "as peer 1, the same peer as before; ")
	out.await(t, "peer 1 to all: two\n") // said while away
	fmt.Fprintln(typed, "/members 3")
	until(t, "still in the group", func() error {
		if n := strings.Count(out.String(), "group 3: peers 1\n"); n < 2 {
			return fmt.Errorf("%d times:\n%s", n, out.String())
		}
		return nil
	})
	fmt.Fprintln(typed, "/quit")
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestChatOverWSS: the transport that was asked for is used and shown, with what
// it carried; a fast channel that the host does not have is said to be missing.
func TestChatOverWSS(t *testing.T) {
	store, err := tlsconf.Load(tlsconf.Options{Dir: t.TempDir(), Hosts: []string{proxyIP}})
	if err != nil {
		t.Fatal(err)
	}
	h, _ := startProxied(t, store.ServerConfig())
	in, typed := io.Pipe()
	defer typed.Close()
	var out screen
	over := make(chan error, 1)
	o := options(h)
	o.Player, o.Fast, o.Transport, o.TLS = "ann", true, client.WSS, &tls.Config{RootCAs: store.Roots()}
	go func() { over <- Chat(t.Context(), o, in, &out) }()
	out.await(t, "as peer 1, player ann")
	out.await(t, ", over wss\n")
	out.await(t, "! no fast channel: ")
	fmt.Fprintln(typed, "/fast one")
	out.await(t, "the fast channel is not up: sent reliably")
	out.await(t, "peer 1 to all: one\n")
	fmt.Fprintln(typed, "/stats")
	out.await(t, "connections: wss 1; packets by the reliable channel: sent 2 (")
	fmt.Fprintln(typed, "/quit")
	if err := <-over; err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "connections: wss 1; "); n != 2 {
		t.Errorf("the counts are shown %d times:\n%s", n, out.String())
	}
	o.TLS = nil
	if err := Chat(t.Context(), o, in, io.Discard); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with the system's roots: %v", err)
	}
}

// TestBotsCount: per-channel counts of all bots, over all their connections.
func TestBotsCount(t *testing.T) {
	h := startHost(t, nil)
	var out screen
	o := options(h)
	o.Fast, o.Transport = true, client.WS
	if err := Bots(t.Context(), BotOptions{Options: o, Bots: 2, Rate: 50, Duration: 200 * time.Millisecond, PayloadBytes: 64}, &out); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.Contains(text, "connections: ws 2; packets by the reliable channel: sent ") || !strings.Contains(text, "; by the fast channel: sent ") {
		t.Errorf("output:\n%s", text)
	}
}

func TestTraffic(t *testing.T) {
	one := traffic{stats: client.Stats{
		Reliable: client.ChannelStats{Sent: 1, SentBytes: 10, Received: 2, ReceivedBytes: 20, Malformed: 3},
		Fast:     client.ChannelStats{Sent: 4, SentBytes: 40, Received: 5, ReceivedBytes: 50, Malformed: 6, Stale: 7, Dropped: 8, Unsent: 9},
	}}
	one.over[client.WS], one.over[client.KCP] = 1, 2
	var sum traffic
	sum.add(one)
	sum.add(one)
	if want := "connections: ws 2, kcp 4; packets by the reliable channel: sent 2 (20 bytes), received 4 (40 bytes), malformed 6; " +
		"by the fast channel: sent 8 (80 bytes), received 10 (100 bytes), malformed 12, stale 14, dropped 16, unsent 18"; sum.String() != want {
		t.Errorf("got %s", sum)
	}
	if s := (traffic{}).String(); strings.Contains(s, "fast") {
		t.Errorf("got %s", s)
	}
}

// TestHostName: what is checked against a certificate is dialled by name.
func TestHostName(t *testing.T) {
	h := startHost(t, func(c *host.Config) { c.Public.Host = "localhost" })
	_, port, _ := net.SplitHostPort(h.Addrs().WS)
	for over, want := range map[client.Transport]string{
		client.WS: h.Addrs().WS, client.WSS: "localhost:" + port, client.KCP: "localhost:" + port, client.Auto: "localhost:" + port,
	} {
		o := options(h)
		o.Transport = over
		_, seats, err := newLobby(o).enter(t.Context(), []string{over.String()})
		if err != nil || seats[0].addr != want {
			t.Errorf("%s: %+v, %v", over, seats, err)
		}
	}
}

// TestChatHearsOut: what was said before the end of the input is heard.
func TestChatHearsOut(t *testing.T) {
	h := startHost(t, nil)
	for range 5 {
		var out screen
		if err := Chat(t.Context(), options(h), strings.NewReader("one\n/help\ntwo\n"), &out); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, ": one\n") || !strings.Contains(text, ": two\n") || !strings.Contains(text, "/to PEER text") {
			t.Errorf("output:\n%s", text)
		}
	}
}

// TestGoneForGood: an end that the host means is not tried again.
func TestGoneForGood(t *testing.T) {
	h := startHost(t, nil)
	_, seats, err := newLobby(options(h)).enter(t.Context(), []string{"ann"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), seats[0], client.Options{}, outages{})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- l.run(t.Context(), nobody{t}) }()
	other, err := open(t.Context(), seats[0], client.Options{}, outages{}) // takes over
	if err != nil {
		t.Fatal(err)
	}
	defer other.client.Close()
	if err := <-over; err == nil || !strings.Contains(err.Error(), "4001 taken_over") {
		t.Errorf("got %v", err)
	}
	if err := l.client.JoinGroup(t.Context(), 1); !errors.Is(err, client.ErrClosed) {
		t.Errorf("send: %v", err)
	}
}

// nobody expects nothing but events.
type nobody struct{ t *testing.T }

func (nobody) onEvent(client.Event)    {}
func (n nobody) onLost(end client.End) { n.t.Errorf("lost: %s", end) }
func (n nobody) onBack(b back)         { n.t.Errorf("back: %s", b) }

// TestLobby: rooms are filled before new ones are made, and large parties are
// reserved in several calls.
func TestLobby(t *testing.T) {
	h := startHost(t, nil)
	lobby := newLobby(options(h))
	party := func(n int) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%d-%d", n, i))
		}
		return names
	}
	first, seats, err := lobby.enter(t.Context(), party(60))
	if err != nil || len(seats) != 60 || seats[59].player != "60-59" || seats[59].addr != h.Addrs().WS {
		t.Fatalf("%d seats, %v", len(seats), err)
	}
	second, _, err := lobby.enter(t.Context(), party(10))
	if err != nil || second == first {
		t.Errorf("the full one again: %v", err)
	}
	third, _, err := lobby.enter(t.Context(), party(6))
	if err != nil || third != second {
		t.Errorf("not the one with room: %v", err)
	}
	full := lobby
	full.o.GameSession = first
	if _, _, err := full.enter(t.Context(), party(1)); err == nil || !strings.Contains(err.Error(), "GameSessionFull") {
		t.Errorf("a full one, by name: %v", err)
	}
}

func TestBotOptions(t *testing.T) {
	for _, change := range []func(o *BotOptions){
		func(o *BotOptions) { o.Bots = 0 }, func(o *BotOptions) { o.Bots = 201 }, func(o *BotOptions) { o.Rate = 0 },
		func(o *BotOptions) { o.Rate = 1001 }, func(o *BotOptions) { o.PayloadBytes = 4097 }, func(o *BotOptions) { o.PayloadBytes = -1 },
		func(o *BotOptions) { o.Duration = -1 }, func(o *BotOptions) { o.Drop = -1 }, func(o *BotOptions) { o.For = 1 },
		func(o *BotOptions) { o.Drop, o.For = 1, 1 },
	} {
		o := BotOptions{Bots: 1, Rate: 1}
		if o.check() != nil {
			t.Fatal("good ones are refused")
		}
		change(&o)
		if o.check() == nil || Bots(t.Context(), o, io.Discard) == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

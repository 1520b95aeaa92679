package play

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The dead letter throttle of the actor library starts a goroutine that sleeps for one second. The end of the
		// tests does not wait for it.
		goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

func startHost(t *testing.T, change func(*host.Config)) *hosttest.Host {
	t.Helper()
	c := hosttest.Config(t)
	if change != nil {
		change(&c)
	}
	return hosttest.Start(t, host.Options{Config: c, Log: zerolog.Nop()})
}

func options(h *hosttest.Host) Options {
	return Options{API: "http://" + h.Host.Addrs().API, Region: "us-east-1", Fleet: "fleet-dev", Network: h.Net}
}

// screen is an output that can be read while it is written to.
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

// shows waits until nothing more happens. Then it fails unless the screen contains text the given number of times.
func (s *screen) shows(t *testing.T, text string, times int) {
	t.Helper()
	if synctest.Wait(); strings.Count(s.String(), text) != times {
		t.Fatalf("it does not show %q %d times:\n%s", text, times, s)
	}
}

// player is a chat user.
type player struct {
	typed io.WriteCloser
	out   *screen
	over  chan error
}

func chats(t *testing.T, o Options) *player {
	in, typed := io.Pipe()
	t.Cleanup(func() { typed.Close() })
	p := &player{typed, new(screen), make(chan error, 1)}
	go func() { p.over <- Chat(t.Context(), o, in, p.out) }()
	return p
}

// quits leaves the chat and returns everything that was shown.
func (p *player) quits(t *testing.T) string {
	t.Helper()
	fmt.Fprintln(p.typed, "/quit")
	if err := <-p.over; err != nil {
		t.Error(err)
	}
	return p.out.String()
}

// A player whose network fails repeatedly sends a message while disconnected, and is still in its group afterwards.
func TestChatComesBack(t *testing.T) { synctest.Test(t, chatComesBack) }

func chatComesBack(t *testing.T) {
	o := options(startHost(t, nil))
	o.Player, o.Group, o.Drop, o.For = "ann", 3, 4*time.Second, 2*time.Second
	p := chats(t, o)
	await := func(text string) {
		t.Helper()
		for late := time.Now().Add(5 * time.Second); !strings.Contains(p.out.String(), text); time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("it does not show %q:\n%s", text, p.out)
			}
		}
	}
	await("group 3: peers 1\n")
	p.out.shows(t, "as peer 1, player ann", 1)
	await("trying to come back\n")
	fmt.Fprintln(p.typed, "two")
	time.Sleep(2*time.Second - time.Millisecond)
	p.out.shows(t, "peer 1 to all: two\n", 0)
	await("as peer 1, the same peer as before; ")
	p.out.shows(t, "peer 1 to all: two\n", 1)
	fmt.Fprintln(p.typed, "/join 3")
	p.out.shows(t, "group 3: peers 1\n", 2)
	time.Sleep(4 * time.Second)
	p.out.shows(t, "the same peer as before; ", 2)
	if text := p.quits(t); strings.Contains(text, "a new peer") {
		t.Errorf("output:\n%s", text)
	}
}

// The requested transport is used and shown, with its packet counts. If the fast channel does not answer, its messages
// use the reliable channel.
func TestChatOverWSS(t *testing.T) { synctest.Test(t, chatOverWSS) }

func chatOverWSS(t *testing.T) {
	h := startHost(t, func(c *host.Config) {
		c.WSS.Addr, c.DTLS.Addr, c.Public.Host, c.TLS.Dir, c.Fleets[0].Certificates = "127.0.0.1:0", "127.0.0.2:0", "localhost", t.TempDir(), "GENERATED"
	})
	pem, err := os.ReadFile(h.Host.Addrs().CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	o := options(h)
	o.Player, o.Fast, o.Transport, o.TLS = "ann", true, client.WSS, &tls.Config{RootCAs: roots}
	p := chats(t, o)
	time.Sleep(activePoll)
	p.out.shows(t, "as peer 1, player ann", 1)
	p.out.shows(t, ", over wss\n", 1)
	fmt.Fprintln(p.typed, "/fast one")
	p.out.shows(t, "the fast channel is not up: sent reliably", 1)
	p.out.shows(t, "peer 1 to all: one\n", 1)
	if text := p.quits(t); !strings.Contains(text, "connections: wss 1; packets by the reliable channel: sent ") {
		t.Errorf("the counts are not shown:\n%s", text)
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

// If a transport verifies a certificate, it dials the DNS name.
func TestHostName(t *testing.T) {
	for over, want := range map[client.Transport]string{client.WS: "192.0.2.1", client.WSS: "a.example", client.KCP: "a.example", client.Auto: "a.example"} {
		o := Options{Transport: over}
		if got := o.host(&types.PlayerSession{IpAddress: aws.String("192.0.2.1"), DnsName: aws.String("a.example")}); got != want {
			t.Errorf("%s: %s", over, got)
		}
		if got := o.host(&types.PlayerSession{IpAddress: aws.String("192.0.2.1")}); got != "192.0.2.1" {
			t.Errorf("%s without a name: %s", over, got)
		}
	}
}

// Messages that were sent before the end of the input arrive.
func TestChatOfOneInput(t *testing.T) { synctest.Test(t, chatOfOneInput) }

func chatOfOneInput(t *testing.T) {
	h := startHost(t, nil)
	for range 5 {
		out := new(screen)
		if err := Chat(t.Context(), options(h), strings.NewReader("one\n/help\ntwo\n"), out); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, ": one\n") || !strings.Contains(text, ": two\n") || !strings.Contains(text, "/to PEER text") {
			t.Errorf("output:\n%s", text)
		}
	}
}

// If the host ends a session deliberately, the client does not reconnect.
func TestGoneForGood(t *testing.T) { synctest.Test(t, goneForGood) }

func goneForGood(t *testing.T) {
	o := options(startHost(t, nil))
	_, seats, err := o.seats(t.Context(), []string{"ann"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), seats[0], o.connection(), outages{})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- l.run(t.Context(), nobody{t}) }()
	other, err := open(t.Context(), seats[0], o.connection(), outages{}) // takes over the session
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

// nobody is a watcher that fails if the connection is lost or reconnected.
type nobody struct{ t *testing.T }

func (nobody) onEvent(client.Event)    {}
func (n nobody) onLost(end client.End) { n.t.Errorf("lost: %s", end) }
func (n nobody) onBack(b back)         { n.t.Errorf("back: %s", b) }

// Existing game sessions are filled before new ones are created. Seats for many players are reserved in several calls.
func TestReserveSeats(t *testing.T) { synctest.Test(t, reserveSeats) }

func reserveSeats(t *testing.T) {
	h := startHost(t, nil)
	o := options(h)
	party := func(n int) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%d-%d", n, i))
		}
		return names
	}
	first, seats, err := o.seats(t.Context(), party(60))
	if err != nil || len(seats) != 60 || seats[59].player != "60-59" || seats[59].addr != h.Host.Addrs().WS {
		t.Fatalf("%d seats, %v", len(seats), err)
	}
	second, _, err := o.seats(t.Context(), party(10))
	if err != nil || second == first {
		t.Errorf("the full one again: %v", err)
	}
	third, _, err := o.seats(t.Context(), party(6))
	if err != nil || third != second {
		t.Errorf("not the one with room: %v", err)
	}
	o.GameSession = first
	if _, _, err := o.seats(t.Context(), party(1)); err == nil || !strings.Contains(err.Error(), "GameSessionFull") {
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

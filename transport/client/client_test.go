package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(natPart); part != "" { // a process of TestNATInANamespace
		if err := natMain(part); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // parallel tests mostly wait for timers, not for the CPU
	}
	goleak.VerifyTestMain(m,
		// The actor library's dead letters start a goroutine that lives for a second; the tests end
		// before it does.
		goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// once switches reconnecting off, for tests about the end of one connection.
var once = client.Reconnect{Off: true}

// patience bounds a step of a test; a longer one counts as failed.
const patience = time.Minute

// game is a host on loopback with one game session.
type game struct {
	host *host.Host
	api  *gamelift.Client
	id   string
}

func startGame(ctx context.Context, change func(*host.Config)) (*game, error) {
	c := host.Defaults()
	c.API.Addr, c.WebSocket.Addr, c.Fast.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = os.DevNull // no test reads the logs
	if change != nil {
		change(&c)
	}
	h, err := host.Start(host.Options{Config: c, Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	g := &game{host: h, api: gamelift.New(gamelift.Options{
		Region: c.Region, BaseEndpoint: aws.String("http://" + h.Addrs().API), Credentials: aws.AnonymousCredentials{},
	})}
	out, err := g.api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(8),
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	g.id = *out.GameSession.GameSessionId
	for out.GameSession.Status != types.GameSessionStatusActive {
		described, err := g.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &g.id})
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("the game session does not become active: %w", err)
		}
		out.GameSession = &described.GameSessions[0]
	}
	return g, nil
}

// seat reserves a seat in the game session.
func (g *game) seat(ctx context.Context, player string) (id string, err error) {
	out, err := g.api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: &g.id, PlayerId: &player})
	if err != nil {
		return "", err
	}
	return *out.PlayerSession.PlayerSessionId, nil
}

// join reserves a seat and logs in.
func (g *game) join(ctx context.Context, player string, o client.Options) (c *client.Client, err error) {
	if o.PlayerSessionID, err = g.seat(ctx, player); err != nil {
		return nil, err
	}
	return client.Dial(ctx, o)
}

// bench is a game for one test, played over one transport.
type bench struct {
	*testing.T
	*game
	ctx  context.Context
	over client.Options // transport and addresses of the game
}

// each runs a test over every transport, each time with a new host.
func each(t *testing.T, change func(*host.Config), test func(t *testing.T, b *bench)) {
	t.Run("ws", func(t *testing.T) { test(t, start(t, change)) })
	t.Run("wss", func(t *testing.T) {
		b := start(t, change)
		addr, stop, err := tlsFront(b.host.Addrs().WS)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop) // runs after every client was closed
		b.over = client.Options{Transport: client.WSS, Addr: addr, TLS: &tls.Config{RootCAs: authority().Roots()}}
		test(t, b)
	})
}

func start(t *testing.T, change func(*host.Config)) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	g, err := startGame(ctx, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.host.Close)
	return &bench{T: t, game: g, ctx: ctx, over: client.Options{Transport: client.WS, Addr: g.host.Addrs().WS}}
}

func (b *bench) reserve() string {
	b.Helper()
	id, err := b.seat(b.ctx, fmt.Sprint("player-", time.Now().UnixNano()))
	if err != nil {
		b.Fatal(err)
	}
	return id
}

func (b *bench) dial(o client.Options) *client.Client {
	b.Helper()
	if o.PlayerSessionID == "" {
		o.PlayerSessionID = b.reserve()
	}
	o.Transport, o.Addr, o.TLS = b.over.Transport, b.over.Addr, b.over.TLS
	c, err := client.Dial(b.ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	if c.Transport() != o.Transport {
		b.Errorf("dialled %s, got %s", o.Transport, c.Transport())
	}
	b.Cleanup(c.Close)
	return c
}

func (b *bench) send(c *client.Client, m client.Message) {
	b.Helper()
	if err := c.Send(b.ctx, m); err != nil {
		b.Fatal(err)
	}
}

// next returns the next event of a kind, and skips others.
func (b *bench) next(c *client.Client, kind client.EventKind) client.Event {
	b.Helper()
	late := time.After(patience)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				b.Fatalf("no %s: %s", kind, c.End())
			}
			if e.Kind == kind {
				return e
			}
		case <-late:
			b.Fatalf("no %s within %v; stats %+v", kind, patience, c.Stats())
		}
	}
}

func (b *bench) ended(c *client.Client) client.End {
	b.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		b.Fatalf("the connection is still open after %v", patience)
	}
	return c.End()
}

// status waits until a player session has a status.
func (b *bench) status(id string, want types.PlayerSessionStatus) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for {
		out, err := b.api.DescribePlayerSessions(b.ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id})
		if err != nil {
			b.Fatal(err)
		}
		got := out.PlayerSessions[0].Status
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("player session is %s, want %s", got, want)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestTalk(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		one, two := b.dial(client.Options{}), b.dial(client.Options{Payload: []byte("hello")})
		if one.PeerID() != 1 || two.PeerID() != 2 {
			t.Errorf("peers %d and %d", one.PeerID(), two.PeerID())
		}
		b.send(one, client.Message{OpCode: 10, TargetGroup: client.AllPlayers, Payload: []byte("all"), Intent: client.Reliable})
		for _, c := range []*client.Client{one, two} {
			e := b.next(c, client.EventMessage)
			if e.Sender != 1 || e.OpCode != 10 || e.TargetGroup != client.AllPlayers || string(e.Payload) != "all" || e.Fast {
				t.Errorf("got %+v", e)
			}
		}
		b.send(one, client.Message{OpCode: 11, TargetPlayer: 2, Payload: []byte("you"), Intent: client.Fast}) // goes by WebSocket: there is no fast channel
		if e := b.next(two, client.EventMessage); e.TargetPlayer != 2 || string(e.Payload) != "you" || e.Fast {
			t.Errorf("got %+v", e)
		}
		if err := one.Send(b.ctx, client.Message{OpCode: 1, Payload: make([]byte, client.PayloadMax+1)}); !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
		if s := one.Stats(); s.Reliable.Sent != 3 || s.Reliable.Received != 2 || s.Fast != (client.ChannelStats{}) {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestGroups(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		one, two := b.dial(client.Options{}), b.dial(client.Options{})
		membership := func(c *client.Client, sender int32, players ...int32) {
			t.Helper()
			if e := b.next(c, client.EventMembership); e.Group != 7 || e.Sender != sender || !slices.Equal(e.Players, players) {
				t.Errorf("got %+v, want players %v", e, players)
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		do(one.JoinGroup(b.ctx, 7))
		membership(one, client.Server, 1)
		do(two.JoinGroup(b.ctx, 7))
		membership(one, client.Server, 1, 2)
		membership(two, client.Server, 1, 2)
		do(one.LeaveGroup(b.ctx, 7))
		membership(two, client.Server, 2)
		do(one.RequestMembership(b.ctx, 7))
		membership(one, 1, 2)
	})
}

func TestFast(t *testing.T) {
	b := start(t, nil)
	one, two := b.dial(client.Options{Fast: true}), b.dial(client.Options{Fast: true})
	for _, c := range []*client.Client{one, two} {
		b.next(c, client.EventFastUp)
		if !c.FastUp() {
			t.Error("fast channel is not up")
		}
	}
	// The first datagram also confirms its sender's address. Client one's address must be
	// confirmed before it gets messages by UDP.
	b.send(one, client.Message{OpCode: 10, TargetPlayer: 2, Payload: []byte("by UDP"), Intent: client.Fast})
	if e := b.next(two, client.EventMessage); string(e.Payload) != "by UDP" || !e.Fast {
		t.Errorf("got %+v", e)
	}
	b.send(two, client.Message{OpCode: 11, TargetPlayer: 1, Payload: make([]byte, client.FastPayloadMax+1), Intent: client.Fast})
	if e := b.next(one, client.EventMessage); e.Fast {
		t.Error("a large payload came by UDP")
	}
	if s := one.Stats(); s.Fast.Sent < 3 || s.Reliable.Sent != 1 || s.Fast.Received < 1 {
		t.Errorf("stats %+v", s)
	}
	one.Close()
	if err := one.Send(b.ctx, client.Message{OpCode: 10, TargetPlayer: 2, Intent: client.Fast}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Without an answer on UDP, everything goes by WebSocket.
func TestWithoutUDPEverythingGoesByWebSocket(t *testing.T) {
	b := start(t, func(c *host.Config) { c.Fast.Enabled = false })
	c := b.dial(client.Options{Fast: true})
	deadline := time.Now().Add(patience)
	for c.Stats().Fast.Sent < 3 { // the first attempt and two retries
		if time.Now().After(deadline) {
			t.Fatalf("no retries: %+v", c.Stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.send(c, client.Message{OpCode: 10, TargetPlayer: c.PeerID(), Intent: client.Fast})
	if e := b.next(c, client.EventMessage); e.Fast || c.FastUp() {
		t.Errorf("got %+v", e)
	}
}

func TestCloseIsALeave(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		id := b.reserve()
		c := b.dial(client.Options{PlayerSessionID: id, Fast: true})
		b.status(id, types.PlayerSessionStatusActive)
		c.Close()
		b.status(id, types.PlayerSessionStatusCompleted)
		if end := b.ended(c); !end.Local || end.Err != nil || end.Retry() != messages.RetryNever || end.String() != "closed here" {
			t.Errorf("end %+v, %s", end, end)
		}
		for range c.Events() { // closed
		}
		if err := c.JoinGroup(b.ctx, 1); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		c.Close()
		c.Abort()
	})
}

func TestAbortIsALoss(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		id := b.reserve()
		c := b.dial(client.Options{PlayerSessionID: id, Fast: true})
		peer := c.PeerID()
		c.Abort()
		if end := b.ended(c); !end.Local || end.Code != 0 {
			t.Errorf("end %+v", end)
		}
		back := b.dial(client.Options{PlayerSessionID: id, Fast: true})
		if back.PeerID() != peer {
			t.Errorf("back as peer %d, was %d", back.PeerID(), peer)
		}
	})
}

func TestTakenOver(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		id := b.reserve()
		old := b.dial(client.Options{PlayerSessionID: id})
		b.dial(client.Options{PlayerSessionID: id})
		end := b.ended(old)
		if end.Code != uint16(messages.CloseTakenOver) || end.Reason != "taken_over" || end.Local || end.Retry() != messages.RetryNever {
			t.Errorf("end %+v", end)
		}
	})
}

func TestHostDrains(t *testing.T) {
	each(t, nil, func(t *testing.T, b *bench) {
		c := b.dial(client.Options{Reconnect: once})
		b.host.Close()
		end := b.ended(c)
		if end.Code == 0 || end.Local {
			t.Errorf("end %+v", end)
		}
		if err := c.Send(b.ctx, client.Message{OpCode: 1, TargetPlayer: client.Server}); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestRefused(t *testing.T) {
	b := start(t, nil)
	_, err := client.Dial(b.ctx, client.Options{Addr: b.host.Addrs().WS, PlayerSessionID: "psess-nobody"})
	if !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// TestDialGivesUp: Dial at a silent listener ends with its context.
func TestDialGivesUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = client.Dial(ctx, client.Options{Addr: l.Addr().String(), PlayerSessionID: "p"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// Reliable messages wait in order until the program takes them. It may also close without
// taking them.
func TestReliableMessagesWaitUntilTheyAreTaken(t *testing.T) {
	unlimited := func(c *host.Config) {
		c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond, c.Limits.DeliveriesPerGameSessionPerSecond = 0, 0, 0
	}
	each(t, unlimited, func(t *testing.T, b *bench) {
		sender, lazy, gone := b.dial(client.Options{}), b.dial(client.Options{EventsMax: 1}), b.dial(client.Options{EventsMax: 1})
		const count = 2000
		for i := range count {
			for _, to := range []*client.Client{lazy, gone} {
				b.send(sender, client.Message{OpCode: int32(i + 1), TargetPlayer: to.PeerID(), Payload: make([]byte, 64), Intent: client.Reliable})
			}
		}
		gone.Close()
		for i := range count {
			if e := b.next(lazy, client.EventMessage); e.OpCode != int32(i+1) {
				t.Fatalf("message %d has op code %d", i, e.OpCode)
			}
		}
	})
}

// TestFastOverflow: UDP messages that exceed the queue of events are dropped and counted.
func TestFastOverflow(t *testing.T) {
	b := start(t, nil)
	c := b.dial(client.Options{Fast: true, EventsMax: 1})
	b.next(c, client.EventFastUp)
	deadline := time.Now().Add(patience)
	for c.Stats().Fast.Dropped == 0 {
		b.send(c, client.Message{OpCode: 10, TargetPlayer: c.PeerID(), Intent: client.Fast})
		if time.Now().After(deadline) {
			t.Fatalf("nothing dropped: %+v", c.Stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestSendGivesUp: Send with an ended context sends nothing, and the connection still works.
func TestSendGivesUp(t *testing.T) {
	b := start(t, nil)
	c := b.dial(client.Options{})
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := c.Send(ctx, client.Message{OpCode: 1, TargetPlayer: c.PeerID(), Intent: client.Reliable}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.send(c, client.Message{OpCode: 2, TargetPlayer: c.PeerID(), Intent: client.Reliable})
	if e := b.next(c, client.EventMessage); e.OpCode != 2 {
		t.Errorf("got %+v", e)
	}
}

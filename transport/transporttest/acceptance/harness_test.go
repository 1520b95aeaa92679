package acceptance_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"go.uber.org/goleak"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

func TestMain(m *testing.M) {
	// The actor library runs a timer of a second after a message to a stopped
	// actor; it ends by itself, but not before goleak has lost its patience.
	// So does the clock of regular expressions, 1.6 s after the last one.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"),
		goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// patience is how long a step of a test may take before it counts as failed: in virtual time, in which that costs nothing, or, for the
// few tests with other processes, in real time, where it only ends a hang.
const patience = time.Minute

// bubble runs a part of a test in a virtual time of its own.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// testHost is a host with clients that end with the test.
type testHost struct {
	*hosttest.Host
	host *host.Host
	api  *gamelift.Client
	real bool // its time is real
}

// onSystem starts the host on the operating system's network, outside of bubbles: for what another program or a kernel must show.
func onSystem(o *host.Options) { o.Network = hosttest.System }

// startHost starts a host on free ports. Change may alter its configuration; a
// nil handler is a relay.
func startHost(t *testing.T, change func(*host.Config), handler func() script.Handler) *testHost {
	t.Helper()
	return startHostWith(t, change, func(o *host.Options) {
		if handler != nil {
			o.NewHandler = func(*messages.Fleet) script.Handler { return handler() }
		}
	})
}

// startHostWith is startHost for tests that need other options.
func startHostWith(t *testing.T, change func(*host.Config), options func(*host.Options)) *testHost {
	t.Helper()
	c := hosttest.Config(t)
	c.Script.Node.AllowUploaded = true // tests upload scripts for both engines
	if change != nil {
		change(&c)
	}
	o := host.Options{Config: c, Log: hosttest.Log(t)}
	options(&o)
	h := hosttest.Start(t, o)
	return &testHost{Host: h, host: h.Host, api: h.API, real: o.Network == hosttest.System}
}

func (h *testHost) context() context.Context {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.Cleanup(cancel)
	return ctx
}

// newGame creates a game session for max players and waits until it is ACTIVE.
func (h *testHost) newGame(max int) string {
	h.Helper()
	id := h.createGame(max)
	h.until("game session is ACTIVE", func() error {
		if s := h.game(id).Status; s != types.GameSessionStatusActive {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
	return id
}

// createGame is newGame that does not wait.
func (h *testHost) createGame(max int) string {
	h.Helper()
	out, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{
		FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(int32(max)), Name: aws.String(h.Name()),
	})
	if err != nil {
		h.Fatal(err)
	}
	return *out.GameSession.GameSessionId
}

func (h *testHost) game(id string) types.GameSession {
	h.Helper()
	out, err := h.api.DescribeGameSessions(h.context(), &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(id)})
	if err != nil {
		h.Fatal(err)
	}
	return out.GameSessions[0]
}

// seats reserves n player sessions and returns their ids.
func (h *testHost) seats(game string, n int) []string {
	h.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("player-%d-%d", time.Now().UnixNano(), i))
	}
	out, err := h.api.CreatePlayerSessions(h.context(), &gamelift.CreatePlayerSessionsInput{GameSessionId: aws.String(game), PlayerIds: names})
	if err != nil {
		h.Fatal(err)
	}
	var ids []string
	for _, p := range out.PlayerSessions {
		ids = append(ids, *p.PlayerSessionId)
	}
	return ids
}

// seat returns the record of a player session.
func (h *testHost) seat(id string) types.PlayerSession {
	h.Helper()
	out, err := h.api.DescribePlayerSessions(h.context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: aws.String(id)})
	if err != nil {
		h.Fatal(err)
	}
	return out.PlayerSessions[0]
}

// dial opens a stock client and sends its LOGIN.
func (h *testHost) dial(id string, o stock.Options) *stock.Client {
	h.Helper()
	o.Network = h.Net
	c, err := stock.Dial(h.context(), h.host.Addrs().WS, id, o)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(c.Kill)
	return c
}

// join opens a stock client and waits for its login.
func (h *testHost) join(id string, o stock.Options) *stock.Client {
	h.Helper()
	c := h.dial(id, o)
	if r, err := c.AwaitLogin(h.context()); err != nil {
		h.Fatalf("login: %v (%+v)", err, r)
	}
	return c
}

// players joins n stock clients to a new game of their own.
func (h *testHost) players(n int, o stock.Options) []*stock.Client {
	h.Helper()
	var clients []*stock.Client
	for _, id := range h.seats(h.newGame(max(n, 8)), n) {
		clients = append(clients, h.join(id, o))
	}
	return clients
}

// expect returns the client's next event that matches.
func (h *testHost) expect(c *stock.Client, match func(stock.Event) bool) stock.Event {
	h.Helper()
	e, err := c.Expect(h.context(), match)
	if err != nil {
		h.Fatal(err)
	}
	return e
}

// checkReceived holds all that the clients received against the protocol's
// rules, and the host against crashes and messages that nobody knew.
func (h *testHost) checkReceived(clients ...*stock.Client) {
	h.Helper()
	for i, c := range clients {
		if err := c.CheckReceived(); err != nil {
			h.Errorf("client %d: %v", i, err)
		}
	}
	if n := h.host.Counters().ActorPanics.Load(); n != 0 {
		h.Errorf("%d actors panicked", n)
	}
	if n := h.host.Counters().ActorMessages.Load(); n != 0 {
		h.Errorf("%d messages that an actor did not know", n)
	}
}

// untilCount waits until a counter has exactly the value.
func (h *testHost) untilCount(what string, get func() int64, want int64) {
	h.Helper()
	h.until(what, func() error {
		if n := get(); n != want {
			return fmt.Errorf("%d, want %d", n, want)
		}
		return nil
	})
}

// dropped waits until exactly want packets were dropped for the reason.
func (h *testHost) dropped(d counters.Drop, want int64) {
	h.Helper()
	h.untilCount("dropped as "+d.String(), func() int64 { return h.host.Counters().Dropped.Get(d) }, want)
}

// closedFor waits until exactly want connections were closed for the reason.
func (h *testHost) closedFor(r messages.CloseReason, want int64) {
	h.Helper()
	h.untilCount("closed as "+r.String(), func() int64 { return int64(h.host.Counters().CloseReasons[r].Load()) }, want)
}

// awaitClose waits for the end of a client's connection with a close code.
func (h *testHost) awaitClose(c *stock.Client, code messages.CloseReason) {
	h.Helper()
	if err := c.AwaitClose(h.context()); err != nil {
		h.Fatal(err)
	}
	if got, reason, ok := c.CloseStatus(); !ok || got != int(code) {
		h.Errorf("closed with %d %q (close frame: %v, error: %v), want %d", got, reason, ok, c.Err(), code)
	}
}

// send sends one message.
func (h *testHost) send(c *stock.Client, m stock.Message) {
	h.Helper()
	if err := c.Send(m); err != nil {
		h.Fatal(err)
	}
}

// until waits for a condition that tells why it is not yet true. In virtual time it lets everything happen that can happen now, and
// time passes only if that was not enough.
func (h *testHost) until(what string, why func() error) {
	h.Helper()
	deadline := time.Now().Add(patience)
	for {
		if !h.real {
			synctest.Wait()
		}
		err := why()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(step)
	}
}

// step is how often until looks.
const step = 5 * time.Millisecond

// exact reports whether something took the time that it must, but for the rounding of rates and the step of until.
func exact(took, want time.Duration) bool { return took >= want && took <= want+step }

// newNetwork returns a network that ends with the test, for what must be there before its host.
func newNetwork(t *testing.T) memnet.Machine {
	n := memnet.New(1)
	t.Cleanup(n.Close)
	return n.Machine()
}

// webhook serves a destination of events on a network until the test ends, and returns its URL.
func webhook(t *testing.T, network memnet.Machine, handler http.HandlerFunc) (url string) {
	t.Helper()
	l, err := network.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

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
	// After a message to a stopped actor, the actor library runs a timer for one second. It ends by itself,
	// but later than goleak waits. The same holds for the clock of the regular expression library, which runs
	// for 1.6 s after its last use.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"),
		goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// patience is the timeout of a step. In virtual time a long timeout costs nothing. In the few tests in real
// time, it only ends a test that hangs.
const patience = time.Minute

// bubble runs a part of a test in its own virtual time.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// testHost is a host with clients. All of them end with the test.
type testHost struct {
	*hosttest.Host
	host *host.Host
	api  *gamelift.Client
	real bool // whether it runs in real time
}

// onSystem makes a host use the operating system's network. It is for tests outside of bubbles that need
// another program or a kernel.
func onSystem(o *host.Options) { o.Network = hosttest.System }

// startHost starts a host on free ports. change may modify its configuration. A nil handler means a relay.
func startHost(t *testing.T, change func(*host.Config), handler func() script.Handler) *testHost {
	t.Helper()
	return startHostWith(t, change, func(o *host.Options) {
		if handler != nil {
			o.NewHandler = func(*messages.Fleet) script.Handler { return handler() }
		}
	})
}

// startHostWith is startHost with further options.
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

// createGame is newGame without waiting.
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

// seat returns the player session with an id.
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

// players lets n stock clients join a new game session.
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

// checkReceived checks everything that the clients received against the rules of the protocol. It also checks
// that the host had no crashes and no unknown messages.
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

// untilCount waits until a counter has exactly the wanted value.
func (h *testHost) untilCount(what string, get func() int64, want int64) {
	h.Helper()
	h.until(what, func() error {
		if n := get(); n != want {
			return fmt.Errorf("%d, want %d", n, want)
		}
		return nil
	})
}

// dropped waits until exactly want packets were dropped for a reason.
func (h *testHost) dropped(d counters.Drop, want int64) {
	h.Helper()
	h.untilCount("dropped as "+d.String(), func() int64 { return h.host.Counters().Dropped.Get(d) }, want)
}

// closedFor waits until exactly want connections were closed for a reason.
func (h *testHost) closedFor(r messages.CloseReason, want int64) {
	h.Helper()
	h.untilCount("closed as "+r.String(), func() int64 { return int64(h.host.Counters().CloseReasons[r].Load()) }, want)
}

// awaitClose waits until a client's connection has ended with a close code.
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

// until polls until why returns nil. In virtual time, it first lets everything happen that can happen now.
// Only if that is not enough, time advances.
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

// step is the interval at which until polls.
const step = 5 * time.Millisecond

// exact reports whether a duration is as expected, apart from the rounding of rates and the step of until.
func exact(took, want time.Duration) bool { return took >= want && took <= want+step }

// newNetwork returns a network that is closed at the end of the test. It is for tests that use the network
// before they start a host.
func newNetwork(t *testing.T) memnet.Machine {
	n := memnet.New(1)
	t.Cleanup(n.Close)
	return n.Machine()
}

// webhook serves a destination of events until the test ends, and returns its URL.
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

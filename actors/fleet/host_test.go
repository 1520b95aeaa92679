package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

// host is a registry on its own stage, in a bubble.
type host struct {
	*testing.T
	stage    *stagetest.Stage
	options  fleet.Options
	disk     *storetest.Disk
	registry *stage.Ref
	running  *fleet.Registry
	handler  script.Handler // handler of the next game session
}

// hosted runs a test on a host. change may modify the host's options.
func hosted(t *testing.T, change func(o *fleet.Options), test func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &host{T: t, stage: stagetest.Start(t, nil), disk: new(storetest.Disk)}
		defer func() {
			h.stage.Close()
			h.running.Wait()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
		}()
		h.options = fleet.Options{
			Region: "eu-test-1", Store: h.disk, Advertised: fleet.Advertised{IPAddress: "192.0.2.1", Port: 1900},
			Session: gamesessiontest.Settings(),
			Fleets: []*messages.Fleet{
				{ID: actorstest.Fleet, Status: messages.FleetActive, Locations: []string{actorstest.Home, actorstest.Away}, GameSessionsMax: 1000},
				{ID: actorstest.Small, Status: messages.FleetActive, Locations: []string{actorstest.Home}, GameSessionsMax: 1},
				{ID: actorstest.Asleep, Status: messages.FleetActivating, Locations: []string{actorstest.Home}, GameSessionsMax: 1},
			},
			Aliases: []*messages.Alias{{ID: actorstest.Alias, FleetID: actorstest.Fleet}, {ID: actorstest.Terminal, Message: "closed for good"}},
			NewHandler: func(*messages.Fleet) script.Handler {
				if h.handler != nil {
					return h.handler
				}
				return script.Relay{}
			},
		}
		if change != nil {
			change(&h.options)
		}
		h.begin()
		test(h)
	})
}

// begin starts the registry.
func (h *host) begin() {
	h.running = assert.Value(fleet.New(h.options))(h)
	h.registry = h.stage.Spawn(h.running)
	synctest.Wait()
}

// restart ends the process and starts the next one a second later.
func (h *host) restart() {
	h.disk.Hold()
	h.registry.Stop()
	stagetest.Pass(time.Second)
	h.running.Wait()
	h.disk.Lose()
	h.begin()
}

// edge adds ids to requests, as a System does.
type edge struct{ *stage.Ref }

func (e edge) Send(q messages.Request, reply func(any, error)) {
	if n, ok := q.(catalog.NewScript); ok {
		n.Request = messages.WithID(n.Request, "").(messages.CreateScript)
		q = n
	}
	e.Ref.Send(messages.WithID(q, ""), reply)
}

// request sends a request to the registry and waits until the bubble is idle.
func request[A any, Q messages.RequestOf[A]](h *host, q Q) (A, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a, err := stage.Await(ctx, func(reply func(A, error)) {
		messages.Send(edge{h.registry}, q, reply)
	})
	synctest.Wait()
	return a, err
}

// later sends a request without waiting for the answer. When the request is answered, its error is appended to the
// returned slice.
func later[A any, Q messages.RequestOf[A]](h *host, q Q) *[]error {
	errs := new([]error)
	messages.Send(edge{h.registry}, q, func(_ A, err error) { *errs = append(*errs, err) })
	synctest.Wait()
	return errs
}

// room returns a function that reports whether more room has been reported since the call of room.
func (h *host) room() func() bool {
	ask := func(since uint64) *messages.Room {
		var r *messages.Room
		messages.Send(h.registry, messages.AwaitRoom{Since: since}, func(room messages.Room, err error) { r = &room })
		stagetest.Pass(time.Second)
		return r
	}
	at := uint64(0)
	if r := ask(0); r != nil {
		at = r.Version
	}
	return func() bool { return ask(at) != nil }
}

func (h *host) create(req messages.CreateGameSession) (*messages.GameSession, error) {
	return request[*messages.GameSession](h, req)
}

func (h *host) games(q messages.FindGameSessions) ([]*messages.GameSession, error) {
	found, err := request[messages.FoundGameSessions](h, q)
	return found.GameSessions, err
}

// game returns a game session as shown by the API.
func (h *host) game(id messages.GameSessionID) *messages.GameSession {
	h.Helper()
	g, err := request[*messages.GameSession](h, messages.GameSessionQuery{ID: id})
	if err != nil {
		h.Fatal(err)
	}
	return g
}

// must creates a game session. The game session must become ACTIVE.
func (h *host) must(req messages.CreateGameSession) *messages.GameSession {
	h.Helper()
	g := assert.Value(h.create(req))(h)
	if g = h.game(g.ID); g.Status != messages.GameSessionActive {
		h.Fatalf("it is %v: %s", g.Status, g.EndText)
	}
	return g
}

// is fails unless err has the code.
func (h *host) is(err error, code messages.ErrorCode) {
	h.Helper()
	if !errors.Is(err, &messages.Error{Code: code}) {
		h.Errorf("the error is %v, want %v", err, code)
	}
}

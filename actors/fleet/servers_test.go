package fleet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/fleet"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// process is a process that speaks the Server SDK, with its connection.
type process struct {
	h      *host
	id     messages.ProcessID
	pushes []messages.ProcessPush
	at     []time.Time // when they came
	n      uint32      // number of the last one

	token string // hash of the token with which it connected

	superseded bool
}

func (p *process) Push(m messages.ProcessPush, n uint32) {
	p.pushes, p.at, p.n = append(p.pushes, m), append(p.at, time.Now()), n
}
func (p *process) End(bool)   {}
func (p *process) Supersede() { p.superseded = true }

const anywhere messages.FleetID = "fleet-anywhere"

// served runs a test on a host with an ANYWHERE fleet, and a process that is ready.
func served(t *testing.T, test func(h *host, p *process), change ...func(o *fleet.Options)) {
	t.Helper()
	hosted(t, func(o *fleet.Options) {
		o.Fleets = append(o.Fleets, &messages.Fleet{ID: anywhere, Status: messages.FleetActive, Locations: []string{actorstest.Home}, Anywhere: true})
		for _, f := range change {
			f(o)
		}
	}, func(h *host) {
		wanted[*messages.Compute](h, messages.RegisterCompute{Compute: messages.Compute{FleetID: anywhere, Name: "c", Location: actorstest.Home, IPAddress: "192.0.2.9"}})
		p := &process{h: h, id: messages.ProcessID{FleetID: anywhere, Compute: "c", Name: "p"}}
		p.connect()
		p.must(messages.ActivateProcess{Port: 7777})
		p.must(messages.BeatProcess{Healthy: true})
		test(h, p)
	})
}

func (p *process) connect() {
	p.h.Helper()
	p.token = p.h.token("c")
	p.must(messages.OpenProcess{TokenSHA256: p.token})
}

// token returns the hash of a token of a compute.
func (h *host) token(compute string) string {
	h.Helper()
	return hashed(wanted[messages.ComputeAuth](h, messages.AuthorizeCompute{FleetID: anywhere, Name: compute}).Token)
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (p *process) call(what any) fleet.ProcessCall {
	return fleet.ProcessCall{ProcessCall: messages.ProcessCall{Process: p.id, Link: p, What: what}}
}

func (p *process) must(what any) {
	p.h.Helper()
	wanted[any](p.h, p.call(what))
}

// hosts makes the process host a game session.
func (p *process) hosts() *messages.GameSession {
	p.h.Helper()
	g := wanted[*messages.GameSession](p.h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4, Name: "old"})
	stagetest.Pass(time.Second)
	p.must(messages.ActivateGame{Session: g.ID})
	return p.h.game(g.ID)
}

// Processes and their game sessions are restored although their fleet is gone: it was taken out of the configuration.
func TestAFleetWithProcessesIsTakenOutOfTheConfiguration(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		h.options.Fleets = slices.DeleteFunc(h.options.Fleets, func(f *messages.Fleet) bool { return f.ID == anywhere })
		h.restart()
		if s := h.game(g.ID).Status; s < messages.GameSessionActive {
			t.Error(s)
		}
		stagetest.Pass(10 * time.Minute)
		if s := h.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
	})
}

// A process that sends requests all the time gets pushes all the same: the last answer keeps them back for a second at most
// (SS-202). Of many results of backfills the oldest are dropped, and never TerminateProcess.
func TestABusyProcessGetsItsPushes(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		p.pushes, p.at = nil, nil
		wanted[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID})
		at := time.Now()
		for i := range 5 {
			_, _ = request[*messages.FilledGameSession](h, messages.FillGameSession{Session: g.ID, Reason: messages.BackfillFailed, Ticket: messages.TicketID(fmt.Sprint(i))})
		}
		for range 40 {
			stagetest.Pass(50 * time.Millisecond)
			p.must(messages.BeatProcess{Healthy: true})
		}
		if len(p.pushes) != 4 {
			t.Fatalf("%d pushes", len(p.pushes))
		}
		if _, ok := p.pushes[0].(messages.PushTerminate); !ok || p.at[0].Sub(at) > 1100*time.Millisecond {
			t.Errorf("first %T after %v", p.pushes[0], p.at[0].Sub(at))
		}
		for i := range 3 {
			if u, ok := p.pushes[i+1].(messages.PushUpdate); !ok || u.Ticket != messages.TicketID(fmt.Sprint(i+2)) {
				t.Errorf("%+v", p.pushes[i+1])
			}
			if d := p.at[i+1].Sub(p.at[i]); d < 200*time.Millisecond {
				t.Errorf("%v after the push before", d)
			}
		}
	})
}

// An answered change of a game session survives, although its process activates it at the same time, and the host is killed
// in between.
func TestActivationKeepsAnsweredChanges(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := wanted[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4, Name: "old"})
		stagetest.Pass(time.Second)
		h.disk.Hold()
		name := "new"
		edit := later[*messages.GameSession](h, messages.UpdateGameSession{ID: g.ID, Name: &name})
		active := later[any](h, p.call(messages.ActivateGame{Session: g.ID}))
		h.disk.Next()
		h.disk.Next()
		if len(*edit) != 1 || (*edit)[0] != nil || len(*active) != 1 || (*active)[0] != nil {
			t.Fatal(*edit, *active)
		}
		h.restart()
		if g := h.game(g.ID); g.Name != name || g.Status != messages.GameSessionActive {
			t.Errorf("%s %v", g.Name, g.Status)
		}
	})
}

// All processes of a compute get their next token, although they ask for it at the same time.
func TestManyProcessesAskForATokenAtOnce(t *testing.T) {
	served(t, func(h *host, p *process) {
		stagetest.Pass(time.Hour)
		h.disk.Hold()
		var all []*[]error
		for range 100 {
			all = append(all, later[messages.ComputeAuth](h, messages.AuthorizeCompute{FleetID: anywhere, Name: "c"}))
		}
		h.disk.Release()
		for i, errs := range all {
			if len(*errs) != 1 || (*errs)[0] != nil {
				t.Fatal(i, *errs)
			}
		}
	})
}

// directory accepts every game session.
type directory struct{}

func (directory) Claim(_ *messages.GameSession, _ [32]byte, done func(error)) { done(nil) }
func (directory) End(messages.GameSessionID, bool)                            {}

// A drain does not wait for game sessions that go on without the host. In a cluster they end with their node: the drain
// waits for their players, and then tells their processes to end.
func TestADrainWithProcesses(t *testing.T) {
	served(t, func(h *host, p *process) {
		p.hosts()
		if errs := *later[messages.None](h, messages.Drain{Grace: time.Minute}); len(errs) != 1 || errs[0] != nil {
			t.Error(errs)
		}
	})
	served(t, func(h *host, p *process) {
		g := p.hosts()
		players := wanted[[]*messages.PlayerSession](h, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "a"}}})
		seat := messages.SetPlayer{Session: g.ID, Player: players[0].ID, Accept: true}
		p.must(seat)
		drained := later[messages.None](h, messages.Drain{Grace: 5 * time.Minute})
		stagetest.Pass(2 * time.Minute)
		if len(*drained) != 0 || h.game(g.ID).Status != messages.GameSessionActive {
			t.Fatal(*drained, h.game(g.ID).Status)
		}
		seat.Accept, p.pushes = false, nil
		p.must(seat)
		stagetest.Pass(time.Second)
		if len(*drained) != 1 || len(p.pushes) != 1 || h.game(g.ID).Status != messages.GameSessionTerminated {
			t.Fatal(*drained, p.pushes, h.game(g.ID).Status)
		}
		if _, ok := p.pushes[0].(messages.PushTerminate); !ok {
			t.Errorf("%T", p.pushes[0])
		}
	}, func(o *fleet.Options) { o.Directory = directory{} })
}

// A reservation whose time is over while its player is being accepted ends when the store refuses that, and not with the
// next reservation.
func TestAReservationEndsWhileItsPlayerIsAccepted(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		seat := func(player messages.PlayerID) messages.PlayerSessionID {
			return wanted[[]*messages.PlayerSession](h, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: player}}})[0].ID
		}
		is := func(what string, id messages.PlayerSessionID, want messages.PlayerSessionStatus) {
			t.Helper()
			if s := wanted[[]*messages.PlayerSession](h, messages.PlayerSessionQuery{PlayerSessionID: id})[0].Status; s != want {
				t.Errorf("%s: %v, want %v", what, s, want)
			}
		}
		first := seat("a")
		stagetest.Pass(30 * time.Second)
		second := seat("b")
		stagetest.Pass(29 * time.Second)
		h.disk.Hold()
		accepted := later[any](h, p.call(messages.SetPlayer{Session: g.ID, Player: first, Accept: true}))
		stagetest.Pass(5 * time.Second)
		is("while it is stored", first, messages.PlayerSessionReserved)
		h.disk.Refuse()
		if len(*accepted) != 1 || (*accepted)[0] == nil {
			t.Fatal(*accepted)
		}
		is("the first", first, messages.PlayerSessionTimedOut)
		is("the second", second, messages.PlayerSessionReserved)
		stagetest.Pass(30 * time.Second)
		is("the second, later", second, messages.PlayerSessionTimedOut)
		h.disk.Release()
	})
}

// A process that says that it ends gets no game session while that becomes durable, whatever it sends. If the store refuses it, the
// process is free again. Its end is one change.
func TestAProcessThatLeavesGetsNoGameSession(t *testing.T) {
	served(t, func(h *host, p *process) {
		create := func(what string, want error) {
			t.Helper()
			if _, err := request[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4}); !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		full := &messages.Error{Code: messages.FleetCapacityExceeded}
		h.disk.Hold()
		left := later[any](h, p.call(messages.LeaveProcess{}))
		again := later[any](h, p.call(messages.LeaveProcess{}))
		p.must(messages.BeatProcess{Healthy: true})
		create("while it leaves", full)
		h.disk.Refuse()
		create("while it leaves again", full)
		h.disk.Refuse()
		h.disk.Release()
		for _, left := range []*[]error{left, again} {
			if len(*left) != 1 || (*left)[0] == nil {
				t.Fatal(*left)
			}
		}
		create("after the store has refused its end", nil)

		q := &process{h: h, id: p.id}
		q.id.Name = "q"
		q.connect()
		q.must(messages.ActivateProcess{Port: 7778})
		q.must(messages.BeatProcess{Healthy: true})
		writes := h.disk.Writes()
		q.must(messages.LeaveProcess{})
		stagetest.Pass(time.Second)
		if n := h.disk.Writes() - writes; n != 1 {
			t.Errorf("%d changes", n)
		}
		create("after its end", full)
	})
}

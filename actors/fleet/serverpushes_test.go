package fleet_test

import (
	"bytes"
	"testing"
	"time"

	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// update makes a result of a backfill, and returns its ticket.
func (p *process) update(g *messages.GameSession, ticket messages.TicketID) messages.TicketID {
	p.h.Helper()
	_, _ = request[*messages.FilledGameSession](p.h, messages.FillGameSession{Session: g.ID, Reason: messages.BackfillFailed, Ticket: ticket})
	stagetest.Pass(time.Second)
	return ticket
}

// updates returns the tickets of the results of backfills that were pushed, and forgets them.
func (p *process) updates() (tickets []messages.TicketID) {
	p.h.Helper()
	for _, m := range p.pushes {
		if u, ok := m.(messages.PushUpdate); ok {
			tickets = append(tickets, u.Ticket)
		} else {
			p.h.Errorf("pushed %T", m)
		}
	}
	p.pushes, p.at = nil, nil
	return tickets
}

func (p *process) wantUpdates(what string, want ...messages.TicketID) {
	p.h.Helper()
	got := p.updates()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		p.h.Errorf("%s: pushed %v, want %v", what, got, want)
	}
}

// SS-203, SS-205: the result of a backfill that was pushed on a connection which ends without its pong is pushed again, a
// second after the first heartbeat on the next connection. The newest one stands for those before it.
func TestLostPushes(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		p.must(messages.PushArrived{N: p.n})
		p.pushes, p.at = nil, nil
		p.update(g, "arrived")
		p.must(messages.PushArrived{N: p.n})
		p.wantUpdates("the first", "arrived")
		p.must(messages.CloseProcess{})
		p.connect()
		p.must(messages.BeatProcess{Healthy: true})
		stagetest.Pass(10 * time.Second)
		p.wantUpdates("after a pong")

		p.update(g, "lost")
		p.update(g, "newest")
		p.wantUpdates("two", "lost", "newest")
		p.must(messages.PushArrived{N: p.n - 1})
		p.must(messages.CloseProcess{})
		stagetest.Pass(time.Second)
		p.connect()
		stagetest.Pass(10 * time.Second)
		p.wantUpdates("before a heartbeat")
		p.must(messages.BeatProcess{Healthy: true})
		at := time.Now()
		stagetest.Pass(10 * time.Second)
		if len(p.at) != 1 || p.at[0].Sub(at) != time.Second {
			t.Error(p.at, at)
		}
		p.wantUpdates("after a heartbeat", "newest")
		if n := h.counters().ServerPushesRepeated.Load(); n != 1 {
			t.Error(n)
		}
		p.must(messages.CloseProcess{}) // lost again
		p.update(g, "while away")
		p.connect()
		p.must(messages.BeatProcess{Healthy: true})
		stagetest.Pass(10 * time.Second)
		p.wantUpdates("a newer one", "while away")
		p.must(messages.PushArrived{N: p.n})

		// A newer one waits, because it is not yet time for it.
		for _, ticket := range []messages.TicketID{"sent", "waits"} {
			_, _ = request[*messages.FilledGameSession](h, messages.FillGameSession{Session: g.ID, Reason: messages.BackfillFailed, Ticket: ticket})
		}
		p.wantUpdates("the first of two", "sent")
		p.must(messages.CloseProcess{})
		p.connect()
		p.must(messages.BeatProcess{Healthy: true})
		stagetest.Pass(10 * time.Second)
		p.wantUpdates("the second", "waits")
		p.must(messages.PushArrived{N: p.n})

		// The connection on which it was lost was superseded, and ends later. A foreign pong says nothing.
		p.update(g, "superseded")
		p.updates()
		q := &process{h: h, id: p.id}
		q.connect()
		q.must(messages.PushArrived{N: 1000})
		q.must(messages.BeatProcess{Healthy: true})
		stagetest.Pass(10 * time.Second)
		q.wantUpdates("the old connection is there")
		p.must(messages.CloseProcess{})
		stagetest.Pass(time.Second)
		q.wantUpdates("the old connection has ended", "superseded")
		q.must(messages.PushArrived{N: q.n})
		q.must(messages.CloseProcess{})
		q.connect()
		q.must(messages.BeatProcess{Healthy: true})
		stagetest.Pass(10 * time.Second)
		q.wantUpdates("at the end")
		if !p.superseded {
			t.Error("not superseded")
		}

		wanted[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID})
		stagetest.Pass(time.Second)
		q.must(messages.CloseProcess{})
		q.connect()
		q.must(messages.BeatProcess{Healthy: true})
		at = time.Now()
		stagetest.Pass(10 * time.Second)
		if len(q.at) != 2 || q.at[1].Sub(at) != time.Second {
			t.Error("TerminateProcess", q.at, at)
		}
	})
}

// SS-205: the result of a backfill that has not arrived is pushed also after the host was killed, and one that has arrived is not.
func TestResultsOutliveTheHost(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		p.must(messages.PushArrived{N: p.n})
		back := func(what string, want ...messages.TicketID) {
			t.Helper()
			h.restart()
			p.pushes, p.n = nil, 0
			p.connect()
			p.must(messages.BeatProcess{Healthy: true})
			at := time.Now()
			stagetest.Pass(10 * time.Second)
			if len(want) > 0 && (len(p.at) == 0 || p.at[len(p.at)-1].Sub(at) != time.Second) {
				t.Errorf("%s: pushed at %v, the heartbeat was at %v", what, p.at, at)
			}
			p.wantUpdates(what, want...)
		}
		p.update(g, "lost")
		back("pushed", "lost")
		p.must(messages.CloseProcess{})
		p.update(g, "away")
		back("while it was away", "away")
		if u := h.game(g.ID); u.Status != messages.GameSessionActive {
			t.Error(u.Status)
		}
		p.must(messages.PushArrived{N: p.n})
		back("after its pong")
	})
}

// SS-204: CreateGameSession is pushed again on the next connection, unless it has arrived.
func TestALostCreateGameSession(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		served(t, func(h *host, p *process) {
			wanted[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4})
			stagetest.Pass(time.Second)
			if len(p.pushes) != 1 {
				t.Fatal(p.pushes)
			}
			want := 2
			if arrives {
				p.must(messages.PushArrived{N: p.n})
				want = 1
			}
			for range 3 {
				p.must(messages.CloseProcess{})
				p.connect()
				p.must(messages.BeatProcess{Healthy: true})
				stagetest.Pass(10 * time.Second)
			}
			if len(p.pushes) != want {
				t.Errorf("%v: %d pushes", arrives, len(p.pushes))
			}
		})
	}
}

// A process is told about its game session when that is durable, and not before, whatever its connection does meanwhile.
func TestNoPushBeforeTheGameSessionIsDurable(t *testing.T) {
	served(t, func(h *host, p *process) {
		h.disk.Hold()
		made := later[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4})
		open := messages.OpenProcess{TokenSHA256: p.token}
		for range 3 {
			p.must(messages.CloseProcess{})
			p.must(open)
			p.must(messages.BeatProcess{Healthy: true})
			stagetest.Pass(time.Minute)
		}
		if len(p.pushes) != 0 || len(*made) != 0 {
			t.Fatal(p.pushes, *made)
		}
		h.disk.Release()
		stagetest.Pass(time.Minute)
		if len(p.pushes) != 1 || len(*made) != 1 || (*made)[0] != nil {
			t.Fatal(p.pushes, *made)
		}
		if g, ok := p.pushes[0].(messages.PushGameSession); !ok {
			t.Errorf("%T", p.pushes[0])
		} else {
			p.must(messages.ActivateGame{Session: g.Session.ID})
		}
	})
	served(t, func(h *host, p *process) { // it is told to end meanwhile: there is no game session for it
		h.disk.Hold()
		later[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4})
		later[messages.None](h, messages.DeregisterCompute{FleetID: anywhere, Name: "c"})
		h.disk.Release()
		stagetest.Pass(time.Minute)
		if len(p.pushes) != 1 {
			t.Fatal(p.pushes)
		}
		if _, ok := p.pushes[0].(messages.PushTerminate); !ok {
			t.Errorf("%T", p.pushes[0])
		}
	})
	served(t, func(h *host, p *process) { // the store refuses it: the process is free again
		h.disk.FailNth(1)
		if _, err := request[*messages.GameSession](h, messages.CreateGameSession{FleetID: anywhere, MaxPlayers: 4}); err == nil {
			t.Error("created")
		}
		stagetest.Pass(time.Minute)
		if len(p.pushes) != 0 {
			t.Error(p.pushes)
		}
		p.hosts()
	})
}

// 9.3, D-406: reservations are COMPLETED when their process has left, also if the host is killed before that is stored, and
// after further starts.
func TestReservationsOfAProcessThatLeft(t *testing.T) {
	for _, killed := range []bool{false, true} {
		served(t, func(h *host, p *process) {
			g := p.hosts()
			id := wanted[[]*messages.PlayerSession](h, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "a"}}})[0].ID
			if killed {
				h.disk.Hold()
				left := later[any](h, p.call(messages.LeaveProcess{}))
				h.disk.Next()
				if len(*left) != 1 || (*left)[0] != nil {
					t.Fatal(*left)
				}
			} else {
				p.must(messages.LeaveProcess{})
				stagetest.Pass(time.Minute)
			}
			for range 2 {
				h.restart()
				found := wanted[[]*messages.PlayerSession](h, messages.PlayerSessionQuery{PlayerID: "a"})
				if len(found) != 1 || found[0].ID != id || found[0].Status != messages.PlayerSessionCompleted || h.game(g.ID).Status != messages.GameSessionTerminated {
					t.Errorf("killed %v: %+v, %v", killed, found[0], h.game(g.ID).Status)
				}
			}
		})
	}
}

// D-406: so are those of a game session whose record is from before records named its process.
func TestReservationsOfAnOlderRecord(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		wanted[[]*messages.PlayerSession](h, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "a"}}})
		for id, value := range h.disk.Records(store.GameSession) {
			h.disk.Commit([]store.Change{{Kind: store.GameSession, ID: id, Value: bytes.Replace(value, []byte(`,"server":true`), nil, 1)}}, nil)
		}
		h.restart()
		p.connect()
		p.must(messages.LeaveProcess{})
		stagetest.Pass(time.Minute)
		h.restart()
		if found := wanted[[]*messages.PlayerSession](h, messages.PlayerSessionQuery{PlayerID: "a"}); len(found) != 1 || found[0].Status != messages.PlayerSessionCompleted {
			t.Errorf("%+v", found[0])
		}
	})
}

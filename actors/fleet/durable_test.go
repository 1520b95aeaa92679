package fleet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/store"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

func (h *host) seats(id messages.GameSessionID, players ...messages.PlayerID) ([]*messages.PlayerSession, error) {
	return request[[]*messages.PlayerSession](h, seatsOf(id, players...))
}

func (h *host) seatsLater(id messages.GameSessionID, players ...messages.PlayerID) *[]error {
	return later[[]*messages.PlayerSession](h, seatsOf(id, players...))
}

func seatsOf(id messages.GameSessionID, players ...messages.PlayerID) messages.CreatePlayerSessions {
	q := messages.CreatePlayerSessions{GameSessionID: id}
	for _, p := range players {
		q.Players = append(q.Players, messages.NewPlayer{PlayerID: p, PlayerData: "data of " + string(p)})
	}
	return q
}

func (h *host) players(q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	return request[[]*messages.PlayerSession](h, q)
}

func TestAGameSessionThatIsNotStoredDoesNotExist(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.disk.Break(true)
		_, err := h.create(create(actorstest.Small, "token"))
		h.is(err, messages.Internal)
		if list, err := h.games(messages.FindGameSessions{FleetID: actorstest.Small}); err != nil || len(list) != 0 {
			h.Error(list, err)
		}
		h.disk.Break(false)
		other := create(actorstest.Small, "token")
		other.Name = "other"
		g := h.must(other) // the process and the token are free again
		if g.Name != "other" {
			h.Errorf("%+v", g)
		}
		assert.Equal(h, "game sessions are stored", len(h.disk.Records(store.GameSession)), 1)
	})
}

func TestAReplayIsNotAnsweredBeforeTheFirstIsDurable(t *testing.T) {
	for name, broken := range map[string]bool{"stored": false, "not stored": true} {
		t.Run(name, func(t *testing.T) {
			hosted(t, nil, func(h *host) {
				h.disk.Break(broken)
				h.disk.Hold()
				first := later[*messages.GameSession](h, create(actorstest.Fleet, "token"))
				second := later[*messages.GameSession](h, create(actorstest.Fleet, "token"))
				if len(*first)+len(*second) != 0 {
					h.Fatalf("answered %v and %v, and nothing is stored", *first, *second)
				}
				if list, err := h.games(messages.FindGameSessions{FleetID: actorstest.Fleet}); err != nil || len(list) != 0 {
					h.Error("shown, and not stored:", list, err)
				}
				h.disk.Release()
				for _, answer := range []*[]error{first, second} {
					if len(*answer) != 1 || ((*answer)[0] != nil) != broken {
						h.Errorf("answered %v", *answer)
					}
				}
			})
		})
	}
}

func TestRequestsThatWaitForTheStoreAreAnsweredWhenTheHostStops(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Hold()
		created := later[*messages.GameSession](h, create(actorstest.Fleet, "token"))
		seats := h.seatsLater(g.ID, "p")
		h.registry.Stop()
		synctest.Wait()
		h.disk.Break(true)
		h.disk.Release()
		if len(*created) != 1 || (*created)[0] == nil || len(*seats) != 1 {
			h.Errorf("answered %v and %v", *created, *seats)
		}
	})
}

func TestAfterARestartGameSessionsAreOverAndKnown(t *testing.T) {
	hosted(t, nil, func(h *host) {
		req := create(actorstest.Fleet, "token")
		req.Location, req.Name, req.Data, req.CreatorID = actorstest.Away, "name", "data", "creator"
		req.Properties = []messages.Property{{Key: "k", Value: "v"}}
		g := h.must(req)
		seat := assert.Value(h.seats(g.ID, "a"))(h)
		ended := h.must(create(actorstest.Small, ""))
		h.stop(ended.ID)
		ended = h.game(ended.ID)

		h.restart()
		again := h.game(g.ID)
		if again.Status != messages.GameSessionTerminated || again.StatusReason != "" || again.CurrentPlayers != 0 || !again.Terminated.After(again.Created) {
			h.Errorf("%+v", again)
		}
		same := *again
		same.Status, same.CurrentPlayers, same.Terminated, same.EndText = g.Status, g.CurrentPlayers, g.Terminated, g.EndText
		if !slices.Equal(same.Properties, g.Properties) || !same.Created.Equal(g.Created) {
			h.Errorf("%+v", same)
		}
		same.Properties, same.Created = g.Properties, g.Created
		equal(h, same, *g)
		p, err := h.players(messages.PlayerSessionQuery{PlayerSessionID: seat[0].ID})
		if err != nil || len(p) != 1 || p[0].Status != messages.PlayerSessionTimedOut || !p[0].Terminated.Equal(again.Terminated) ||
			p[0].PlayerData != "data of a" || p[0].IPAddress != g.IPAddress || !p[0].Created.Equal(seat[0].Created) {
			h.Errorf("%+v, %v", p, err)
		}
		if e := h.game(ended.ID); e.StatusReason != "FORCE_TERMINATED" || !e.Terminated.Equal(ended.Terminated) || e.EndText != ended.EndText {
			h.Errorf("%+v, it was %+v", e, ended)
		}
		if list, err := h.games(messages.FindGameSessions{FleetID: actorstest.Fleet}); err != nil || len(list) != 1 {
			h.Error(list, err)
		}

		replay, err := h.create(req)
		if err != nil || replay.ID != g.ID || replay.Status != messages.GameSessionTerminated {
			h.Error(replay, err)
		}
		req.Name = "another"
		_, err = h.create(req)
		h.is(err, messages.IdempotentMismatch)
		_, err = h.seats(g.ID, "b")
		h.is(err, messages.InvalidGameSessionStatus)
		h.must(create(actorstest.Small, "")) // the process is free again

		h.restart() // the first start has stored the ends of the game sessions
		if third := h.game(g.ID); !third.Terminated.Equal(again.Terminated) {
			h.Errorf("ended %v, and %v", again.Terminated, third.Terminated)
		}
	})
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }

// statuses returns the stored statuses of all player sessions.
func statuses(w *world, d *storetest.Disk) map[messages.PlayerSessionID]messages.PlayerSessionStatus {
	w.Helper()
	all := make(map[messages.PlayerSessionID]messages.PlayerSessionStatus)
	for id, value := range d.Records(store.PlayerSession) {
		var seat struct {
			Status messages.PlayerSessionStatus `json:"s"`
		}
		assert.NoError(w, json.Unmarshal(value, &seat))
		all[messages.PlayerSessionID(id)] = seat.Status
	}
	return all
}

func equal[T any](h *host, got, want T) {
	h.Helper()
	if g, w := sprint(got), sprint(want); g != w {
		h.Errorf("\n got %s\nwant %s", g, w)
	}
}

func TestAnAnsweredEndIsFinalAcrossARestart(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.handler = &ponders{}
		g := h.must(create(actorstest.Fleet, ""))
		got, err := request[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID})
		if err != nil || got.Status != messages.GameSessionTerminating {
			h.Fatal(got, err)
		}
		h.restart()
		if again := h.game(g.ID); again.Status != messages.GameSessionTerminated || again.StatusReason != "TRIGGERED_ON_PROCESS_TERMINATE" {
			h.Errorf("%+v", again)
		}
	})
}

func TestAGameSessionOutlivesItsFleetInTheStore(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Small, "token"))
		seat, err := h.seats(g.ID, "a")
		assert.NoError(h, err)
		h.options.Fleets = h.options.Fleets[:1]
		h.restart()
		if again := h.game(g.ID); again.FleetID != actorstest.Small || again.Status != messages.GameSessionTerminated {
			h.Errorf("%+v", again)
		}
		if p, err := h.players(messages.PlayerSessionQuery{PlayerID: "a"}); err != nil || len(p) != 1 || p[0].ID != seat[0].ID {
			h.Error(p, err)
		}
		_, err = h.games(messages.FindGameSessions{FleetID: actorstest.Small})
		h.is(err, messages.NotFound)
	})
}

// API-34.
func TestForgottenGameSessionsAreDeletedFromTheStore(t *testing.T) {
	keep := func(o *fleet.Options) { o.EndedMax, o.EndedKeep = 3, time.Hour }
	hosted(t, keep, func(h *host) {
		var ids []messages.GameSessionID
		for range 5 {
			g := h.must(create(actorstest.Small, ""))
			assert.OK(h.seats(g.ID, "a"))(h)
			h.stop(g.ID)
			ids = append(ids, g.ID)
		}
		check := func(n int) {
			h.Helper()
			for i, id := range ids {
				g, err := request[*messages.GameSession](h, messages.GameSessionQuery{ID: id})
				if (g != nil) != (i >= len(ids)-n) {
					h.Errorf("game session %d of %d: %v, %v", i, len(ids), g, err)
				}
			}
			if g, p := len(h.disk.Records(store.GameSession)), len(h.disk.Records(store.PlayerSession)); g != n || p != n {
				h.Errorf("%d game sessions and %d player sessions are stored, not %d", g, p, n)
			}
		}
		check(3)
		h.restart()
		check(3)
		time.Sleep(50 * time.Minute)
		h.restart()
		check(3)
		time.Sleep(11 * time.Minute)
		h.restart()
		check(0)
	})
}

func TestPlayerSessionsWithoutAGameSessionAreDeleted(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.disk.Memory.Commit([]store.Change{store.Put(store.PlayerSession, "psess-1", map[string]any{"g": "arn:gone", "p": "a", "s": messages.PlayerSessionReserved})}, nil)
		h.restart()
		assert.Equal(h, "are left", len(h.disk.Records(store.PlayerSession)), 0)
	})
}

// A damaged record never prevents the host from starting. The player sessions of a damaged game session are kept.
func TestADamagedRecordIsLeftOut(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g, broken := h.must(create(actorstest.Fleet, "")), h.must(create(actorstest.Fleet, ""))
		assert.OK(h.seats(broken.ID, "a"))(t)
		h.disk.Put(store.GameSession, string(broken.ID), "{")
		h.disk.Put(store.PlayerSession, "psess-broken", "")
		damaged := 2
		for n, value := range []string{"", "[]", `"what?"`, `{"fleet":5,"g":5}`, "PK\x03\x04"} {
			h.disk.Put(store.GameSession, fmt.Sprint("arn:", n), value)
			h.disk.Put(store.PlayerSession, fmt.Sprint("psess-", n), value)
			damaged += 2
		}
		r, err := fleet.New(h.options)
		if err != nil || len(r.Damaged()) != damaged {
			t.Errorf("%v, %v", r.Damaged(), err)
		}
		h.restart()
		assert.Equal(h, "player sessions are left", len(h.disk.Records(store.PlayerSession)), 1+damaged/2)
		_, err = request[*messages.GameSession](h, messages.GameSessionQuery{ID: broken.ID})
		h.is(err, messages.NotFound)
		h.game(g.ID)
	})
}

func TestAPlayerThatPlayedHasCompletedAfterARestart(t *testing.T) {
	d := new(storetest.Disk)
	with := func(o *actors.Options) { o.Fleet.Store = d }
	var id, never messages.PlayerSessionID
	actorstest.Run(t, with, func(w *world) {
		g := w.Create(nil)
		id, never = w.Seat(g), w.Seat(g)
		w.Enter(id)
		d.Break(true) // from now on the process stores nothing, as if it had been killed
	})
	d.Break(false)
	actorstest.Run(t, with, func(w *world) {
		w.Want(id, messages.PlayerSessionCompleted, 0)
		w.Want(never, messages.PlayerSessionTimedOut, 0)
	})
}

func TestAPlayersStatusesAreStored(t *testing.T) {
	d := new(storetest.Disk)
	with := func(o *actors.Options) { o.Fleet.Store = d }
	actorstest.Run(t, with, func(w *world) {
		id := w.Create(nil)
		left, late, lost := w.Seat(id), w.Seat(id), w.Seat(id)
		w.Enter(left).Depart()
		w.Enter(lost)
		w.Pass(time.Minute + time.Second)
		w.Want(late, messages.PlayerSessionTimedOut, 1)
		got := statuses(w, d)
		if got[left] != messages.PlayerSessionCompleted || got[late] != messages.PlayerSessionTimedOut || got[lost] != messages.PlayerSessionActive {
			w.Errorf("%v", got)
		}
		// Two for the game session, three for reserved player sessions, two for logins, one for a leave and one for a
		// timeout.
		if n := d.Writes(); n != 2+3+2+1+1 {
			w.Errorf("%d records were written", n)
		}
	})
}

func TestAnEndThatWasNotStoredIsStoredOnceTheDiskWorks(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Break(true)
		assert.OK(request[messages.None](h, messages.GiveUp{ID: g.ID}))(h)
		synctest.Wait()
		shown := h.game(g.ID)
		if shown.Status != messages.GameSessionTerminated || shown.StatusReason != "FORCE_TERMINATED" {
			h.Errorf("%+v", shown)
		}
		time.Sleep(time.Minute)
		h.disk.Break(false)
		time.Sleep(time.Minute)
		h.registry.Stop()
		synctest.Wait()
		h.begin()
		if again := h.game(g.ID); again.Status != messages.GameSessionTerminated || !again.Terminated.Equal(shown.Terminated) || again.StatusReason != shown.StatusReason {
			h.Errorf("it was shown as %+v, and is now %+v", shown, again)
		}
	})
}

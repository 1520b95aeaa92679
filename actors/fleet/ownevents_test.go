package fleet_test

import (
	"encoding/json"
	"slices"
	"sync"
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

// heard records the events that were sent.
type heard struct {
	mu  sync.Mutex
	all []messages.Event
}

func (l *heard) take(e messages.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

func (l *heard) types() (types []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		types = append(types, e.Type)
	}
	l.all = nil
	return types
}

func TestEventsOfGameSessionsAndPlayerSessions(t *testing.T) {
	d, l := new(storetest.Disk), new(heard)
	with := func(o *actors.Options) { o.Fleet.Store, o.Fleet.OwnEvents, o.Fleet.OnEvent = d, true, l.take }
	actorstest.Run(t, with, func(w *world) {
		id := w.Create(nil)
		actorstest.Equal(w, "create", l.types(), "GameSessionActivating", "GameSessionActive")
		left, late, stays, held := w.Seat(id), w.Seat(id), w.Seat(id), messages.PlayerSessionID("")
		reserved := "PlayerSessionReserved"
		actorstest.Equal(w, "seats", l.types(), reserved, reserved, reserved)
		w.Enter(left).Depart()
		w.Enter(stays)
		actorstest.Equal(w, "players", l.types(), "PlayerSessionActive", "PlayerSessionCompleted", "PlayerSessionActive")
		w.Pass(time.Minute + time.Second)
		actorstest.Equal(w, "late", l.types(), "PlayerSessionTimedOut")
		w.Want(late, messages.PlayerSessionTimedOut, 1)
		held = w.Seat(id)
		w.Want(held, messages.PlayerSessionReserved, 2)
		l.types()
		assert.OK(terminate(w, id, true))(w)
		w.WaitIdle()
		last := slices.Clone(l.all)
		actorstest.Equal(w, "end", l.types(), "GameSessionTerminating", "PlayerSessionCompleted", "PlayerSessionTimedOut", "GameSessionTerminated")
		var detail map[string]any
		e := last[len(last)-1]
		if err := json.Unmarshal(e.Detail, &detail); err != nil || e.Kind != messages.EventGameSession || e.Name != string(actorstest.Fleet) || e.ARN != string(id) {
			w.Errorf("%+v, %v", e, err)
		}
		want := map[string]any{
			"type": "GameSessionTerminated", "gameSessionArn": string(id), "fleetId": string(actorstest.Fleet), "location": actorstest.Home,
			"status": "TERMINATED", "statusReason": "FORCE_TERMINATED", "ipAddress": "192.0.2.1", "port": 1900.0,
			"currentPlayerSessionCount": 0.0, "maximumPlayerSessionCount": 100.0,
		}
		for k, v := range want {
			if detail[k] != v {
				w.Errorf("%s is %v, not %v", k, detail[k], v)
			}
		}
		if len(detail) != len(want) {
			w.Errorf("%v", detail)
		}
		if err := json.Unmarshal(last[1].Detail, &detail); err != nil || detail["playerSessionId"] != string(stays) || detail["status"] != "COMPLETED" {
			w.Errorf("%s", last[1].Detail)
		}
		assert.Equal(w, "events are stored", len(d.Records(store.Event)), 14)
	})
}

func TestEventsAreSentOnceTheyAreDurable(t *testing.T) {
	l := new(heard)
	hosted(t, func(o *fleet.Options) { o.OwnEvents, o.OnEvent = true, l.take }, func(h *host) {
		h.disk.Hold()
		later[*messages.GameSession](h, create(actorstest.Small, "token"))
		if got := l.types(); len(got) != 0 {
			h.Errorf("left already: %v", got)
		}
		h.disk.Release()
		assert.List(h, "types", l.types(), []string{"GameSessionActivating", "GameSessionActive"})
		list, err := h.games(messages.FindGameSessions{FleetID: actorstest.Small})
		if err != nil || len(list) != 1 {
			h.Fatal(list, err)
		}
		assert.OK(h.seats(list[0].ID, "a"))(h)
		h.disk.Break(true)
		_, err = h.seats(list[0].ID, "b")
		h.is(err, messages.Internal)
		h.disk.Break(false)
		assert.List(h, "types", l.types(), []string{"PlayerSessionReserved"})
		h.restart()
		assert.List(h, "after a restart", l.types(), []string{"PlayerSessionTimedOut", "GameSessionTerminated"})
		h.restart()
		if got := l.types(); len(got) != 0 {
			h.Errorf("after another: %v", got)
		}
	})
}

// A game session that ends without a TERMINATING phase sends both events.
func TestEventsOfAnEndThatIsOverAtOnce(t *testing.T) {
	l, g := new(heard), new(game)
	hosted(t, func(o *fleet.Options) { o.OwnEvents, o.OnEvent = true, l.take }, func(h *host) {
		h.handler = g
		h.disk.Hold()
		later[*messages.GameSession](h, create(actorstest.Small, "token"))
		g.Session.Do(func() { g.Session.ProcessEnding(); g.Session.Exit(0) })
		synctest.Wait()
		h.disk.Release()
		assert.List(h, "types", l.types(), []string{"GameSessionActivating", "GameSessionActive", "GameSessionTerminating", "GameSessionTerminated"})
	})
}

// Player sessions change while the store refuses writes. When the store works again, their statuses are stored and
// their events are sent in order. RL-21, RL-119.
func TestPlayerSessionsThatChangeDuringAnOutageAreStoredWithTheirEvents(t *testing.T) {
	d, l := new(storetest.Disk), new(heard)
	with := func(o *actors.Options) { o.Fleet.Store, o.Fleet.OwnEvents, o.Fleet.OnEvent = d, true, l.take }
	actorstest.Run(t, with, func(w *world) {
		id := w.Create(nil)
		left, late, stays := w.Seat(id), w.Seat(id), w.Seat(id)
		l.types()
		d.Break(true)
		w.Enter(left).Depart()
		w.Enter(stays)
		w.Pass(time.Minute + time.Second)
		actorstest.Equal(w, "while nothing is stored", l.types())
		d.Break(false)
		w.Pass(5 * time.Second)
		actorstest.Equal(w, "afterwards", l.types(), "PlayerSessionActive", "PlayerSessionCompleted", "PlayerSessionActive", "PlayerSessionTimedOut")
		got := statuses(w, d)
		if got[left] != messages.PlayerSessionCompleted || got[late] != messages.PlayerSessionTimedOut || got[stays] != messages.PlayerSessionActive {
			w.Errorf("%v", got)
		}
		w.Pass(time.Minute)
		actorstest.Equal(w, "twice", l.types())
	})
}

// The events of a game session stay in order. The event about its end comes last.
func TestAnOutageKeepsTheOrderOfEvents(t *testing.T) {
	d, l := new(storetest.Disk), new(heard)
	with := func(o *actors.Options) { o.Fleet.Store, o.Fleet.OwnEvents, o.Fleet.OnEvent = d, true, l.take }
	actorstest.Run(t, with, func(w *world) {
		g := new(actorstest.Game)
		id := w.Create(g)
		left, stays := w.Seat(id), w.Seat(id)
		w.Enter(stays)
		l.types()
		d.Break(true)
		w.Enter(left).Depart()
		_, err := terminate(w, id, true)
		w.IsError(err, messages.Internal)
		actorstest.Equal(w, "refused", []string{w.Game(id).Status.String()}, "ACTIVE")
		g.Session.Do(func() { g.Session.ProcessEnding(); g.Session.Exit(0) })
		w.Pass(10 * time.Second)
		d.Break(false)
		w.Pass(5 * time.Second)
		actorstest.Equal(w, "afterwards", l.types(), "PlayerSessionActive", "PlayerSessionCompleted",
			"GameSessionTerminating", "PlayerSessionCompleted", "GameSessionTerminated")
	})
}

// The store works again, and the host stops before it has retried the refused notes.
func TestNotesOfAnOutageAreStoredAsTheHostStops(t *testing.T) {
	d, l := new(storetest.Disk), new(heard)
	with := func(o *actors.Options) { o.Fleet.Store, o.Fleet.OwnEvents, o.Fleet.OnEvent = d, true, l.take }
	actorstest.Run(t, with, func(w *world) {
		left := w.Seat(w.Create(nil))
		l.types()
		d.Break(true)
		w.Enter(left).Depart()
		w.Pass(time.Second)
		d.Break(false)
		w.System.Close()
		actorstest.Equal(w, "events", l.types(), "PlayerSessionActive", "PlayerSessionCompleted")
		assert.Equal(w, "the player session is stored as", statuses(w, d)[left], messages.PlayerSessionCompleted)
	})
}

// The store refuses writes when the host starts. When it works again, the events of the game sessions that ended with
// the previous process are sent.
func TestEventsOfThePreviousProcessAreSentAfterAnOutage(t *testing.T) {
	l := new(heard)
	hosted(t, func(o *fleet.Options) { o.OwnEvents, o.OnEvent = true, l.take }, func(h *host) {
		g := h.must(create(actorstest.Small, ""))
		assert.OK(h.seats(g.ID, "a"))(h)
		l.types()
		h.disk.Break(true)
		h.restart()
		time.Sleep(time.Minute)
		if got := l.types(); len(got) != 0 {
			h.Errorf("told of what is not stored: %v", got)
		}
		h.disk.Break(false)
		time.Sleep(5 * time.Second)
		assert.List(h, "types", l.types(), []string{"PlayerSessionTimedOut", "GameSessionTerminated"})
	})
}

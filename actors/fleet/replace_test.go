package fleet

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// Resources and game sessions may be kept in different stores.
func TestTheCatalogMayHaveAStoreOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second)
		}()
		shared, own := new(store.Memory), new(store.Memory)
		begin := func() (*Registry, *stage.Ref) {
			r, err := New(Options{
				Region: "home", Session: gamesessiontest.Settings(), NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
				Fleets: []*messages.Fleet{{ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 3}},
				Store:  own, Catalog: shared,
			})
			assert.NoError(t, err)
			return r, s.SpawnAt(s.Stage.NewRef(counters.ActorFleet, stage.LaneLimits{}), r)
		}
		_, ref := begin()
		messages.Send(ref, messages.CreateAlias{ID: "alias-a", Name: "a", FleetID: "fleet-a"}, func(_ *messages.Alias, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		messages.Send(ref, messages.CreateGameSession{FleetID: "fleet-a", MaxPlayers: 4, Tail: "gsess-1"}, func(_ *messages.GameSession, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for _, c := range []struct {
			name  string
			store *store.Memory
			kind  store.Kind
			want  int
		}{
			{"alias, shared", shared, store.Alias, 1}, {"alias, own", own, store.Alias, 0},
			{"game session, shared", shared, store.GameSession, 0}, {"game session, own", own, store.GameSession, 1},
		} {
			n := 0
			if _, err := c.store.Load(c.kind, func(string, []byte) error { n++; return nil }); err != nil || n != c.want {
				t.Errorf("%s: %d records, want %d (%v)", c.name, n, c.want, err)
			}
		}
		ref.Stop()
		synctest.Wait()
		r, _ := begin()
		synctest.Wait()
		assert.Equal(t, "game sessions are there again", len(r.games.sessions), 1)
	})
}

// The list of a fleet's live game sessions does not keep growing with ended game sessions.
func TestEndedGameSessionsLeaveTheListOfTheLive(t *testing.T) {
	var s shown
	add := func() *entry {
		e := &entry{storage: stored, published: gamesession.NewPublisher(new(messages.GameSession))}
		s.add(e)
		return e
	}
	over := func(e *entry) {
		e.phase = phaseOver
		s.over(e)
	}
	for live := range 1000 {
		add()
		over(add())
		if most := 3*(live+1) + shownSlack; len(s.list) > most {
			t.Fatalf("%d entries for %d live game sessions", len(s.list), live+1)
		}
	}
	for _, e := range slices.Clone(s.list) {
		if e.phase != phaseOver {
			over(e)
		}
	}
	if len(s.list) > shownSlack {
		t.Errorf("%d entries for none", len(s.list))
	}
}

package fleet

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// remote is a catalog whose charges are decided remotely, after a second.
type remote struct {
	Catalog
	c       *stage.Context
	refunds int
}

// charge is an answer that has arrived.
type charge struct{ answer func() }

func (r *remote) Charge(f *messages.Fleet, creator string, reply func(error)) {
	r.c.After(time.Second, charge{func() { r.Catalog.Charge(f, creator, reply) }})
}

func (r *remote) Refund(id messages.FleetID, creator string) {
	r.refunds++
	r.Catalog.Refund(id, creator)
}

// elsewhere is a registry with a remote catalog.
type elsewhere struct {
	*Registry
	catalog *remote
}

func (e *elsewhere) Started(c *stage.Context) {
	e.catalog = &remote{Catalog: e.games.catalog, c: c}
	e.games.catalog = e.catalog
	e.Registry.Started(c)
}

func (e *elsewhere) Receive(c *stage.Context, msg any) {
	if m, ok := msg.(charge); ok {
		m.answer()
		return
	}
	e.Registry.Receive(c, msg)
}

// A remote catalog may answer late: only the answer of CreateGameSession waits for it. Changes that are
// made meanwhile count.
func TestChargesMayBeDecidedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second) // for goroutines of the actor library to end
		}()
		registry, err := New(Options{
			Region: "home", Session: gamesession.DefaultSettings(), NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
			Fleets: []*messages.Fleet{{
				ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 3,
				CreatorLimit: &messages.CreatorLimit{PerPeriod: 2, Period: time.Hour},
			}},
		})
		assert.NoError(t, err)
		e := &elsewhere{Registry: registry}
		ref := s.SpawnAt(s.Stage.NewRef(counters.ActorFleet, stage.LaneLimits{}), e)
		type answer struct {
			g   *messages.GameSession
			err error
		}
		create := func(token string) chan answer {
			done := make(chan answer, 1)
			q := messages.CreateGameSession{FleetID: "fleet-a", CreatorID: "me", MaxPlayers: 4, IdempotencyToken: token}
			messages.Send(ref, q, func(g *messages.GameSession, err error) { done <- answer{g, err} })
			return done
		}
		first, same := create("one"), create("one")
		synctest.Wait()
		if len(first) != 0 || len(same) != 0 {
			t.Fatal("answered before the charge is")
		}
		time.Sleep(time.Second)
		a, b := <-first, <-same
		if a.err != nil || b.err != nil || a.g.ID != b.g.ID {
			t.Fatalf("a token made %+v and %+v", a, b)
		}
		assert.Equal(t, "charges were taken back", e.catalog.refunds, 1)
		if got := <-create("two"); got.err != nil {
			t.Error("the second of two was refused:", got.err)
		}
		if got := <-create("three"); got.err == nil {
			t.Error("the third of two was not refused")
		}
	})
}

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
				Region: "home", Session: gamesession.DefaultSettings(), NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
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

// The list of a fleet's live game sessions does not grow with those that have ended.
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
	for _, e := range slices.Clone(s.entries) {
		if e.phase != phaseOver {
			over(e)
		}
	}
	if len(s.list) > shownSlack {
		t.Errorf("%d entries for none", len(s.list))
	}
}

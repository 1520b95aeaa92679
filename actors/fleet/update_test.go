package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/messages"
)

func (h *host) update(q messages.UpdateGameSession) (*messages.GameSession, error) {
	return request[*messages.GameSession](h, q)
}

func properties(pairs ...string) (all []messages.Property) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, messages.Property{Key: pairs[i], Value: pairs[i+1]})
	}
	return all
}

// API-30.
func TestUpdateMergesPropertiesAndNeverDeletes(t *testing.T) {
	hosted(t, nil, func(h *host) {
		req := create(actorstest.Fleet, "token")
		req.Properties = properties("a", "1", "b", "2")
		g := h.must(req)
		got, err := h.update(messages.UpdateGameSession{ID: g.ID, Properties: properties("b", "3", "c", "4")})
		want := properties("a", "1", "b", "3", "c", "4")
		if err != nil || !slices.Equal(got.Properties, want) {
			h.Errorf("%+v, %v", got, err)
		}
		var many []string
		for i := range 13 {
			many = append(many, fmt.Sprint("k", i), "v")
		}
		if _, err = h.update(messages.UpdateGameSession{ID: g.ID, Properties: properties(many...)}); err != nil {
			h.Errorf("16 properties: %v", err)
		}
		_, err = h.update(messages.UpdateGameSession{ID: g.ID, Properties: properties("one more", "")})
		h.is(err, messages.InvalidRequest)
		assert.Equal(h, "it has properties", len(h.game(g.ID).Properties), 16)
		// The request is compared with the first request, not with the current state.
		if again, err := h.create(req); err != nil || again.ID != g.ID {
			h.Error(again, err)
		}
	})
}

// API-31, API-32.
func TestUpdateOfAGameSessionThatEndsOrHasEnded(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.handler = &ponders{}
		g := h.must(create(actorstest.Fleet, ""))
		name := "n"
		for _, force := range []bool{false, true} {
			assert.OK(request[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID, Force: force}))(h)
			_, err := h.update(messages.UpdateGameSession{ID: g.ID, Name: &name})
			h.is(err, messages.InvalidGameSessionStatus)
		}
		if g := h.game(g.ID); g.Status != messages.GameSessionTerminated || g.StatusReason != "FORCE_TERMINATED" {
			h.Errorf("%+v", g)
		}
		_, err := h.update(messages.UpdateGameSession{ID: "arn:unknown", Name: &name})
		h.is(err, messages.NotFound)
	})
}

// API-36.
func TestAGameSessionThatDeniesPlayers(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		yes, no := true, false
		if got, err := h.update(messages.UpdateGameSession{ID: g.ID, AcceptsPlayers: &no}); err != nil || got.AcceptsPlayers {
			h.Error(got, err)
		}
		_, err := h.seats(g.ID, "a")
		h.is(err, messages.InvalidGameSessionStatus)
		if _, err = h.update(messages.UpdateGameSession{ID: g.ID, AcceptsPlayers: &yes}); err != nil {
			h.Error(err)
		}
		if _, err = h.seats(g.ID, "a"); err != nil {
			h.Error(err)
		}
	})
}

// API-37.
func TestALowerMaximumRemovesNobody(t *testing.T) {
	actorstest.Run(t, nil, func(w *world) {
		id := w.Create(nil) // the maximum is 100
		a, b := w.Player(id), w.Player(id)
		last := w.Seat(id)
		one := 1
		if got, err := messages.Do(context.Background(), w.System, messages.UpdateGameSession{ID: id, MaxPlayers: &one}); err != nil || got.MaxPlayers != 1 || got.CurrentPlayers != 3 {
			w.Error(got, err)
		}
		_, err := w.Seats(id, "x")
		w.IsError(err, messages.GameSessionFull)
		if text := err.Error(); !strings.Contains(text, "has 0 free seats, 1 are needed") {
			w.Error(text)
		}
		w.Enter(last) // a reservation does not help while there are more players than the maximum
		assert.Equal(w, "it is", w.Seated(last).Status, messages.PlayerSessionReserved)
		a.Depart()
		b.Depart()
		w.Pass(time.Minute)
		if _, err = w.Seats(id, "x"); err != nil {
			w.Error(err)
		}
		four := 4
		assert.OK(messages.Do(context.Background(), w.System, messages.UpdateGameSession{ID: id, MaxPlayers: &four}))(w)
		if _, err = w.Seats(id, "x", "y", "z"); err != nil {
			w.Error(err)
		}
	})
}

func TestUpdatesAreDurableAndSequential(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		tell := func(q messages.UpdateGameSession) *[]error {
			q.ID = g.ID
			return later[*messages.GameSession](h, q)
		}
		h.disk.Hold()
		yes := true
		one := tell(messages.UpdateGameSession{Properties: properties("a", "1")})
		two := tell(messages.UpdateGameSession{Properties: properties("b", "2"), Protected: &yes})
		if len(*one)+len(*two) != 0 || len(h.game(g.ID).Properties) != 0 {
			h.Error("answered or shown, and not stored")
		}
		h.disk.Release()
		if got := h.game(g.ID); !slices.Equal(append(*one, *two...), []error{nil, nil}) || len(got.Properties) != 2 || !got.Protected {
			h.Errorf("%v, %v, %+v", *one, *two, got)
		}
		h.disk.Break(true)
		_, err := h.update(messages.UpdateGameSession{ID: g.ID, Properties: properties("c", "3")})
		h.is(err, messages.Internal)
		h.disk.Break(false)
		h.disk.Hold()
		refused := 0
		for range 70 {
			refused += len(*tell(messages.UpdateGameSession{Protected: &yes})) // waiting requests have not been answered yet
		}
		assert.Equal(h, "were refused", refused, 70-64)
		h.disk.Release()
		h.restart()
		if got := h.game(g.ID); !slices.Equal(got.Properties, properties("a", "1", "b", "2")) || !got.Protected {
			h.Errorf("after the restart: %+v", got)
		}
	})
}

// API-28.
func TestCreatorsAreLimited(t *testing.T) {
	limited := func(o *fleet.Options) {
		f := *o.Fleets[0]
		f.CreatorLimit = &messages.CreatorLimit{PerPeriod: 2, Period: time.Hour}
		o.Fleets[0] = &f
	}
	hosted(t, limited, func(h *host) {
		_, err := h.create(create(actorstest.Fleet, ""))
		h.is(err, messages.InvalidRequest)
		by := func(who, token string) messages.CreateGameSession {
			req := create(actorstest.Fleet, token)
			req.CreatorID = who
			return req
		}
		h.must(by("x", ""))
		h.must(by("x", "token"))
		_, err = h.create(by("x", ""))
		h.is(err, messages.LimitExceeded)
		if _, err = h.create(by("x", "token")); err != nil {
			h.Errorf("a replay: %v", err)
		}
		h.must(by("y", ""))
		h.restart()
		_, err = h.create(by("x", ""))
		h.is(err, messages.LimitExceeded)
		if _, err := launch(h, actorstest.Fleet, ""); err != nil {
			h.Errorf("a placement is not limited: %v", err)
		}
		time.Sleep(time.Hour)
		h.must(by("x", ""))

		small := create(actorstest.Small, "") // a fleet without a policy
		small.CreatorID = "x"
		h.stop(h.must(small).ID)
		_, err = h.create(small)
		h.is(err, messages.LimitExceeded)
		time.Sleep(time.Second)
		h.must(small)
	})
}

func TestAnAnsweredUpdateIsKeptWhenTheGameSessionEndsMeanwhile(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Hold()
		answer := later[*messages.GameSession](h, messages.UpdateGameSession{ID: g.ID, Name: new("after")})
		later[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		h.disk.Break(true) // from now on nothing is stored, as if the host had been killed
		h.disk.Release()
		if !slices.Equal(*answer, []error{nil}) {
			h.Fatalf("the edit was answered %v", *answer)
		}
		h.registry.Stop()
		synctest.Wait()
		h.disk.Break(false)
		h.begin()
		if g := h.game(g.ID); g.Name != "after" {
			h.Errorf("it is called %q", g.Name)
		}
	})
}

func TestARefusedUpdateIsNotStoredWithTheEnd(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Hold()
		h.disk.Break(true)
		answer := later[*messages.GameSession](h, messages.UpdateGameSession{ID: g.ID, Name: new("after")})
		h.disk.Break(false)
		later[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		h.disk.Release()
		h.is((*answer)[0], messages.Internal)
		h.registry.Stop()
		synctest.Wait()
		h.begin()
		if g := h.game(g.ID); g.Name != "" {
			h.Errorf("it is called %q", g.Name)
		}
	})
}

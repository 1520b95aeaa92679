package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

type (
	world = actorstest.World
	game  = actorstest.Game
)

func run(t *testing.T, test func(w *world)) { t.Helper(); actorstest.Run(t, nil, test) }

func create(fleet messages.FleetID, token string) messages.CreateGameSession {
	return messages.CreateGameSession{FleetID: fleet, MaxPlayers: 4, IdempotencyToken: token}
}

// end makes a game end its game session.
func end(w *world, g *game) {
	w.Helper()
	if !g.Session.Do(func() { g.Session.ProcessEnding(); g.Session.Exit(0) }) {
		w.Error("the game has ended already")
	}
	w.WaitIdle()
}

func sessions(w *world, q messages.FindGameSessions) []*messages.GameSession {
	w.Helper()
	return assert.Value(messages.Do(context.Background(), w.System, q))(w).GameSessions
}

// API-24.
func TestAliasesRouteOrRefuseWithTheirMessage(t *testing.T) {
	run(t, func(w *world) {
		g, err := w.Try(messages.CreateGameSession{AliasID: actorstest.Alias}, nil)
		if err != nil || g.FleetID != actorstest.Fleet {
			w.Errorf("%+v, %v", g, err)
		}
		_, err = w.Try(messages.CreateGameSession{AliasID: actorstest.Terminal}, nil)
		if w.IsError(err, messages.TerminalRouting); err.Error() != "closed for good" {
			w.Errorf("the message is %q", err)
		}
		_, err = w.Try(messages.CreateGameSession{AliasID: "alias-unknown"}, nil)
		w.IsError(err, messages.NotFound)
		_, err = w.Try(messages.CreateGameSession{AliasID: actorstest.Dangling}, nil)
		w.IsError(err, messages.NotFound)
		_, err = w.Try(messages.CreateGameSession{FleetID: "fleet-unknown"}, nil)
		w.IsError(err, messages.NotFound)
	})
}

// API-25.
func TestAFleetNotActiveOrFullRefuses(t *testing.T) {
	run(t, func(w *world) {
		_, err := w.Try(create(actorstest.Asleep, ""), nil)
		w.IsError(err, messages.InvalidFleetStatus)

		g := &game{}
		assert.OK(w.Try(create(actorstest.Small, ""), g))(w)
		_, err = w.Try(create(actorstest.Small, ""), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
		end(w, g)
		if _, err := w.Try(create(actorstest.Small, ""), nil); err != nil {
			w.Errorf("after the first has ended: %v", err)
		}
		// A game that fails to start releases its process too.
		w.WaitIdle()
	})
	run(t, func(w *world) {
		assert.OK(w.Try(create(actorstest.Small, ""), &game{Started: func() bool { return false }}))(w)
		if _, err := w.Try(create(actorstest.Small, ""), nil); err != nil {
			w.Errorf("after one that did not start: %v", err)
		}
	})
}

// API-26.
func TestATokenMakesOneGameSession(t *testing.T) {
	run(t, func(w *world) {
		req := create(actorstest.Small, "token-1")
		req.Name, req.Properties = "name", []messages.Property{{Key: "k", Value: "v"}}
		g := &game{}
		first, err := w.Try(req, g)
		if err != nil || first.Status != messages.GameSessionActivating && first.Status != messages.GameSessionActive {
			w.Fatal(first, err)
		}
		again, err := w.Try(req, nil) // succeeds although the fleet is full
		if err != nil || again.ID != first.ID || again.Status != messages.GameSessionActive {
			w.Errorf("%+v, %v", again, err)
		}
		for name, change := range map[string]func(r *messages.CreateGameSession){
			"max":        func(r *messages.CreateGameSession) { r.MaxPlayers++ },
			"name":       func(r *messages.CreateGameSession) { r.Name = "" },
			"data":       func(r *messages.CreateGameSession) { r.Data = "x" },
			"creator":    func(r *messages.CreateGameSession) { r.CreatorID = "x" },
			"properties": func(r *messages.CreateGameSession) { r.Properties = nil },
		} {
			other := req
			change(&other)
			if _, err := w.Try(other, nil); err == nil {
				w.Errorf("%s: no error", name)
			} else {
				w.IsError(err, messages.IdempotentMismatch)
			}
		}
		end(w, g)
		if again, err = w.Try(req, nil); err != nil || again.Status != messages.GameSessionTerminated {
			w.Errorf("after the end: %+v, %v", again, err)
		}
	})
	run(t, func(w *world) { // a token is valid for one fleet and one location
		a, err1 := w.Try(create(actorstest.Fleet, "t"), nil)
		b, err2 := w.Try(create(actorstest.Small, "t"), nil)
		away := create(actorstest.Fleet, "t")
		away.Location = actorstest.Away
		c, err3 := w.Try(away, nil)
		if err1 != nil || err2 != nil || err3 != nil || a.ID == b.ID || a.ID == c.ID {
			w.Error(a, b, c, err1, err2, err3)
		}
	})
}

// API-27.
func TestFormsOfTheARN(t *testing.T) {
	run(t, func(w *world) {
		const home = "arn:aws:gamelift:eu-test-1::gamesession/fleet-test/"
		id := func(req messages.CreateGameSession) string {
			g := assert.Value(w.Try(req, nil))(w)
			if g.Location == "" || g.IPAddress != "192.0.2.1" || g.Port != 1900 || !g.AcceptsPlayers {
				w.Errorf("%+v", g)
			}
			return string(g.ID)
		}
		if got := id(create(actorstest.Fleet, "my-token")); got != home+"my-token" {
			w.Error(got)
		}
		if got := id(create(actorstest.Fleet, "")); !strings.HasPrefix(got, home+"gsess-") || len(got) != len(home)+6+36 {
			w.Error(got)
		}
		away := create(actorstest.Fleet, "my-token")
		if away.Location = actorstest.Away; id(away) != home+"away/my-token" {
			w.Error("away")
		}
		named := create(actorstest.Fleet, "other")
		if named.Location = actorstest.Home; id(named) != home+"other" {
			w.Error("home")
		}
		lost := create(actorstest.Fleet, "")
		lost.Location = "nowhere"
		_, err := w.Try(lost, nil)
		w.IsError(err, messages.InvalidRequest)
	})
}

// A token that looks like the last part of a generated id must not take the id of a live game session.
func TestATokenCannotTakeAnothersID(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		_, err := w.Try(create(actorstest.Fleet, string(id[strings.LastIndex(string(id), "/")+1:])), nil)
		w.IsError(err, messages.Conflict)
		w.Player(id)
	})
}

// API-34.
func TestEndedGameSessionsAreRememberedWithinBounds(t *testing.T) {
	change := func(o *actors.Options) {
		o.Fleet.EndedMax, o.Fleet.EndedKeep, o.Fleet.Session.EmptyTimeout = 3, time.Hour, -1
	}
	actorstest.Run(t, change, func(w *world) {
		stays := w.Create(nil) // the oldest game session is live; the limits still apply to the others
		w.Player(stays)
		var ids []messages.GameSessionID
		var seats []messages.PlayerSessionID
		for i := range 4 {
			g := &game{}
			made := assert.Value(w.Try(create(actorstest.Fleet, fmt.Sprint("token-", i)), g))(w)
			ids = append(ids, made.ID)
			seats = append(seats, w.Player(made.ID).ID)
			w.Pass(time.Minute)
			end(w, g)
		}
		_, err := messages.Do(context.Background(), w.System, messages.GameSessionQuery{ID: ids[0]})
		w.IsError(err, messages.NotFound)
		_, err = messages.Do(context.Background(), w.System, messages.PlayerSessionQuery{PlayerSessionID: seats[0]})
		w.IsError(err, messages.NotFound)
		_, err = w.Seats(ids[0], "x")
		w.IsError(err, messages.NotFound)
		if again, err := w.Try(create(actorstest.Fleet, "token-0"), nil); err != nil || again.Status == messages.GameSessionTerminated {
			w.Errorf("the token is not free: %+v, %v", again, err)
		}
		for i, id := range ids[1:] {
			if g := w.Game(id); g.Status != messages.GameSessionTerminated || g.CurrentPlayers != 0 {
				w.Errorf("%+v", g)
			}
			w.Want(seats[i+1], messages.PlayerSessionCompleted, 0)
		}
		w.Pass(time.Hour - 2*time.Minute) // game 1 ended two minutes before game 3
		w.Game(ids[1])
		w.Pass(time.Millisecond)
		if _, err = messages.Do(context.Background(), w.System, messages.GameSessionQuery{ID: ids[1]}); err == nil {
			w.Error("still known after its time")
		}
		w.Game(ids[2])
		w.Pass(3 * time.Minute)
		if n := len(sessions(w, messages.FindGameSessions{FleetID: actorstest.Fleet, Status: messages.GameSessionTerminated})); n > 1 {
			w.Errorf("%d ended ones are still known", n)
		}
		w.Game(stays)
	})
}

func TestGameSessionsAreSelectedByIDFleetAliasLocationAndStatus(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		a, b := w.Create(g), w.Create(nil)
		away := create(actorstest.Fleet, "")
		away.Location = actorstest.Away
		c, _ := w.Try(away, nil)
		d, _ := w.Try(create(actorstest.Small, ""), nil)
		end(w, g)
		rank := map[messages.GameSessionID]int{a: 1, b: 2, c.ID: 3}
		ids := func(q messages.FindGameSessions) []messages.GameSessionID {
			var list []messages.GameSessionID
			for _, s := range sessions(w, q) {
				list = append(list, s.ID)
			}
			// All were created at the same time.
			slices.SortFunc(list, func(x, y messages.GameSessionID) int { return cmp.Compare(rank[x], rank[y]) })
			return list
		}
		actorstest.Equal(w, "fleet", ids(messages.FindGameSessions{FleetID: actorstest.Fleet}), a, b, c.ID)
		actorstest.Equal(w, "alias", ids(messages.FindGameSessions{AliasID: actorstest.Alias}), a, b, c.ID)
		actorstest.Equal(w, "small", ids(messages.FindGameSessions{FleetID: actorstest.Small}), d.ID)
		actorstest.Equal(w, "status", ids(messages.FindGameSessions{FleetID: actorstest.Fleet, Status: messages.GameSessionActive}), b, c.ID)
		actorstest.Equal(w, "location", ids(messages.FindGameSessions{FleetID: actorstest.Fleet, Location: actorstest.Away}), c.ID)
		for _, q := range []messages.FindGameSessions{{FleetID: "fleet-unknown"}, {AliasID: "alias-unknown"}, {Location: "nowhere"}} {
			_, err := messages.Do(context.Background(), w.System, q)
			w.IsError(err, messages.NotFound)
		}
		_, err := messages.Do(context.Background(), w.System, messages.GameSessionQuery{ID: "arn:unknown"})
		w.IsError(err, messages.NotFound)
		_, err = messages.Do(context.Background(), w.System, messages.FindGameSessions{FleetID: actorstest.Fleet, Location: "nowhere"})
		w.IsError(err, messages.InvalidRequest)
		fleets, err := messages.Do(context.Background(), w.System, messages.FleetQuery{})
		if err != nil || len(fleets) != 3 {
			w.Error(fleets, err)
		}
	})
}

// API-40.
func TestTheStatusFilterHoldsForAGameSessionOnly(t *testing.T) {
	run(t, func(w *world) {
		g, h := w.Create(nil), w.Create(nil)
		seats := assert.Value(w.Seats(g, "alice", "bob"))(w)
		w.Pass(time.Second)
		more, err := w.Seats(h, "alice")
		assert.NoError(w, err)
		w.Enter(seats[0].ID)
		ids := func(q messages.PlayerSessionQuery) []messages.PlayerSessionID {
			list := assert.Value(messages.Do(context.Background(), w.System, q))(w)
			var found []messages.PlayerSessionID
			for _, p := range list {
				found = append(found, p.ID)
			}
			return found
		}
		const reserved = messages.PlayerSessionReserved
		actorstest.Equal(w, "game", ids(messages.PlayerSessionQuery{GameSessionID: g}), seats[0].ID, seats[1].ID)
		actorstest.Equal(w, "game, reserved", ids(messages.PlayerSessionQuery{GameSessionID: g, Status: reserved}), seats[1].ID)
		actorstest.Equal(w, "player", ids(messages.PlayerSessionQuery{PlayerID: "alice", Status: reserved}), seats[0].ID, more[0].ID)
		actorstest.Equal(w, "player session", ids(messages.PlayerSessionQuery{PlayerSessionID: seats[0].ID, Status: reserved}), seats[0].ID)
		actorstest.Equal(w, "short", ids(messages.PlayerSessionQuery{ShortID: more[0].ID.Short()}), more[0].ID)
		actorstest.Equal(w, "no such", ids(messages.PlayerSessionQuery{ShortID: "none"}))
		actorstest.Equal(w, "nobody", ids(messages.PlayerSessionQuery{PlayerID: "carol"}))
		for _, q := range []messages.PlayerSessionQuery{{GameSessionID: "arn:unknown"}, {PlayerSessionID: "psess-unknown"}} {
			_, err := messages.Do(context.Background(), w.System, q)
			w.IsError(err, messages.NotFound)
		}
	})
}

func TestAHandlerThatCannotBeCreatedFailsOnlyItsRequest(t *testing.T) {
	broken := true
	change := func(o *actors.Options) {
		o.Fleet.NewHandler = func(*messages.Fleet) script.Handler {
			if broken {
				panic("bug in a loader")
			}
			return script.Relay{}
		}
	}
	actorstest.Run(t, change, func(w *world) {
		_, err := w.Try(create(actorstest.Small, "token"), nil)
		w.IsError(err, messages.Internal)
		broken = false
		assert.OK(w.Try(create(actorstest.Small, "token"), nil))(w)
	})
}

func drain(w *world, grace time.Duration) <-chan time.Duration {
	done := make(chan time.Duration, 1)
	start := time.Now()
	go func() {
		if err := messages.Run(context.Background(), w.System, messages.Drain{Grace: grace}); err != nil {
			w.Error(err)
		}
		done <- time.Since(start)
	}()
	w.WaitIdle()
	return done
}

func TestADrainEndsEmptyGamesAtOnceAndTheOthersWithTheirLastPlayer(t *testing.T) {
	run(t, func(w *world) {
		empty, first, second := w.Create(nil), w.Create(nil), w.Create(nil)
		a, b := w.Player(first), w.Player(second)
		seat := w.Seat(first)
		done := drain(w, time.Hour)
		assert.Equal(w, "the empty one is", w.Game(empty).Status, messages.GameSessionTerminated)
		_, err := w.Try(create(actorstest.Fleet, ""), nil)
		w.IsError(err, messages.Unavailable)
		_, err = w.Seats(first, "x")
		w.IsError(err, messages.Unavailable)
		a.Say(1, 1, 0, "goes on")
		actorstest.Equal(w, "a", a.Take(), "1 from 1 to player 1: goes on")
		late := w.Enter(seat) // RL-30: a player with a reserved player session may still log in
		actorstest.Equal(w, "late", late.Take(), "login 2")
		w.Pass(10 * time.Second)
		a.Depart()
		late.Depart()
		w.Pass(20 * time.Second)
		b.Lose() // a detached player counts as a player until its window is over
		w.Pass(30*time.Second - time.Millisecond)
		assert.Equal(w, "done too early", len(done), 0)
		w.Pass(time.Millisecond)
		assert.Equal(w, "drained after", <-done, time.Minute)
	})
}

func TestADrainsGraceEndsRemainingGameSessionsAndASecondDrainShortensIt(t *testing.T) {
	run(t, func(w *world) {
		var clients []*actorstest.Client
		for range 150 { // with more than a hundred game sessions, their ends are spread over time
			clients = append(clients, w.Player(w.Create(nil)))
		}
		first := drain(w, time.Hour)
		w.Pass(time.Second)
		second := drain(w, 2*time.Second)
		w.Pass(2*time.Second - time.Millisecond)
		assert.Equal(w, "done too early", len(first)+len(second), 0)
		w.Pass(time.Second)
		if a, b := <-first, <-second; a > 3500*time.Millisecond || b > 2500*time.Millisecond || a < 3*time.Second {
			w.Errorf("drained after %v and %v", a, b)
		}
		for _, c := range clients {
			if r, _ := c.Closed(); r != messages.CloseGoingAway {
				w.Errorf("closed with %v", r)
			}
		}
		if d := <-drain(w, time.Hour); d != 0 { // there is no game session left
			w.Errorf("an empty host drained after %v", d)
		}
	})
}

func TestADrainGivesUpWithItsContext(t *testing.T) {
	run(t, func(w *world) {
		w.Player(w.Create(nil))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := messages.Run(ctx, w.System, messages.Drain{Grace: time.Hour}); err == nil || !strings.Contains(err.Error(), "deadline") {
			w.Error(err)
		}
	})
}

// RL-28.
func TestNothingIsLeftOfManyGameSessions(t *testing.T) {
	run(t, func(w *world) {
		for range 20 {
			g := &game{}
			id := w.Create(g)
			w.Player(id)
			w.Player(id).Lose()
			w.Seat(id)
			end(w, g)
		}
		assert.Equal(w, "actors are left", w.System.Live(counters.ActorGameSession)+w.System.Live(counters.ActorPlayer), 0)
	})
}

// API-39.
func TestACompletedPlayerSessionIsNotAcceptedButANewOneIs(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.Rejoin = false }, func(w *world) {
		id := w.Create(nil)
		first := assert.Value(w.Seats(id, "alice"))(w)
		w.Enter(first[0].ID).Depart()
		w.Want(first[0].ID, messages.PlayerSessionCompleted, 0)
		if got := w.Enter(first[0].ID).Take(); len(got) != 1 || got[0] != "refused" {
			w.Errorf("the second login: %v", got)
		}
		w.Want(first[0].ID, messages.PlayerSessionCompleted, 0)
		second := assert.Value(w.Seats(id, "alice"))(w)
		w.Enter(second[0].ID)
		w.Want(second[0].ID, messages.PlayerSessionActive, 1)
	})
}

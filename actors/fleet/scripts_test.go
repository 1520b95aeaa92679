package fleet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

var trail = []string{"FLEET_CREATED", "FLEET_STATE_DOWNLOADING", "FLEET_STATE_VALIDATING", "FLEET_STATE_BUILDING", "FLEET_STATE_ACTIVATING", "FLEET_STATE_ACTIVE"}

// API-60.
func TestAFleetOfAScriptBecomesActiveWithItsTrail(t *testing.T) {
	scripted(t, nil, func(w *world, _ *engine) {
		s := newScript(w, "main.js")
		f := newFleet(w, messages.CreateFleet{Name: "f", ScriptID: s.ID, LaunchPath: "/local/game/main.js"})
		assert.Equal(w, "the answer says", f.Status, messages.FleetNew)
		if now := theFleet(w, f.ID); now.Status != messages.FleetActive {
			w.Errorf("it is %v", now.Status)
		}
		actorstest.Equal(w, "events", happened(w, f.ID), trail...)
		any, err := messages.Do(context.Background(), w.System, messages.CreateFleet{Name: "a", Anywhere: true, Locations: []string{"custom-x"}})
		if err != nil || any.Status != messages.FleetActive {
			w.Errorf("an ANYWHERE fleet: %+v, %v", any, err)
		}
		_, err = w.Try(at(any.ID, "custom-x"), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
	})
}

// API-59.
func TestNewGameSessionsRunTheNewContentRunningOnesTheirs(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		first := start(w, f.ID)
		old := e.last()
		update(w, s.ID, "2.0", "main.js=two")
		second := start(w, f.ID)
		if first.ScriptVersion != "1 (1.0)" || w.Game(first.ID).Status != messages.GameSessionActive || second.ScriptVersion != "2 (2.0)" {
			w.Errorf("versions %q and %q", first.ScriptVersion, second.ScriptVersion)
		}
		if old.program.text != "one" || e.last().program.text != "two" {
			w.Error("they run", old.program.text, e.last().program.text)
		}
		assert.Equal(w, "programs while both are run", e.programs(), 2)
		end(w, &old.Game)
		assert.Equal(w, "programs after the last game session of the old one", e.programs(), 1)
		scripts, err := messages.Do(context.Background(), w.System, messages.ScriptQuery{ID: s.ID})
		if err != nil || scripts[0].Contents != 2 || scripts[0].Version != "2.0" || scripts[0].Name != "game" {
			w.Error(scripts, err)
		}
		// An update that changes only the name of the script does not load a program.
		if _, err := messages.Do(context.Background(), w.System, messages.UpdateScript{ID: s.ID, Name: "other"}); err != nil || e.made != 2 {
			w.Error(err, e.made)
		}
	})
}

func TestDeletingAScriptAndAFleet(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		ctx := context.Background()
		s := newScript(w, "main.js=good")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		w.IsError(messages.Run(ctx, w.System, messages.DeleteScript{ID: s.ID}), messages.InvalidRequest) // D-208
		g := start(w, f.ID)
		c := w.Player(g.ID)
		assert.NoError(w, messages.Run(ctx, w.System, messages.DeleteFleet{ID: f.ID}))
		_, err := w.Try(create(f.ID, ""), nil)
		w.IsError(err, messages.InvalidFleetStatus)
		w.Pass(5 * time.Second)
		if r, _ := c.Closed(); r != messages.CloseGoingAway {
			w.Errorf("the player was closed with %v", r)
		}
		now := theFleet(w, f.ID)
		if now.Status != messages.FleetTerminated || now.Terminated.IsZero() || w.Game(g.ID).Status != messages.GameSessionTerminated {
			w.Errorf("%v, %v", now.Status, w.Game(g.ID).Status)
		}
		actorstest.Equal(w, "events", happened(w, f.ID), append(slices.Clone(trail), "FLEET_DELETED")...)
		w.IsError(messages.Run(ctx, w.System, messages.DeleteFleet{ID: f.ID}), messages.NotFound)
		assert.Equal(w, "its program is open", e.programs(), 0)
		assert.NoError(w, messages.Run(ctx, w.System, messages.DeleteScript{ID: s.ID}))
		w.IsError(messages.Run(ctx, w.System, messages.DeleteScript{ID: s.ID}), messages.NotFound)
		_, err = messages.Do(ctx, w.System, messages.UpdateScript{ID: s.ID, Name: "x"})
		w.IsError(err, messages.NotFound)
		w.Pass(25 * time.Hour)
		w.IsError(messages.Run(ctx, w.System, messages.DeleteFleet{ID: f.ID}), messages.NotFound)
	})
}

func TestProcessesOfARuntimeConfiguration(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		ctx := context.Background()
		s := newScript(w, "a.js=a", "b.js=b")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("2 a.js mode:1", "1 /local/game/b.js")})
		var texts, args []string
		for range 3 {
			start(w, f.ID)
			texts = append(texts, e.last().program.text)
			args = append(args, strings.Join(e.last().processConfig.Args, "+"))
		}
		actorstest.Equal(w, "run", texts, "a", "a", "b")
		actorstest.Equal(w, "args", args, "mode:1", "mode:1", "")
		_, err := w.Try(create(f.ID, ""), nil)
		w.IsError(err, messages.FleetCapacityExceeded)

		change := func(rc messages.RuntimeConfiguration) error {
			_, err := messages.Do(ctx, w.System, messages.UpdateRuntime{FleetID: f.ID, Runtime: rc})
			w.WaitIdle()
			return err
		}
		assert.NoError(w, change(processes("2 a.js mode:1", "2 b.js x")))
		start(w, f.ID) // three of the four old processes are still running
		if e.last().program.text != "b" || e.last().processConfig.Args[0] != "x" {
			w.Error(e.last().processConfig.Args)
		}
		_, err = w.Try(create(f.ID, ""), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
	})
}

func TestActivationIsBounded(t *testing.T) {
	scripted(t, nil, func(w *world, _ *engine) {
		s := newScript(w, "main.js=slow start")
		rc := processes("5 main.js")
		rc.ActivatingMax, rc.ActivationTimeout = 1, 20*time.Second
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: rc})
		g, err := w.Try(create(f.ID, ""), nil)
		if err != nil || g.Status != messages.GameSessionActivating {
			w.Fatal(g, err)
		}
		_, err = w.Try(create(f.ID, ""), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
		w.Pass(19 * time.Second)
		assert.Equal(w, "status", w.Game(g.ID).Status, messages.GameSessionActivating)
		w.Pass(2 * time.Second)
		assert.Equal(w, "status", w.Game(g.ID).Status, messages.GameSessionTerminated)
		if got := happened(w, f.ID); got[len(got)-1] != "GAME_SESSION_ACTIVATION_TIMEOUT" {
			w.Error(got)
		}
	})
}

// If a creation was refused for another reason, it does not count against the creator's limit.
func TestARefusedCreationIsNotCharged(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		s := newScript(w, "main.js=good")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("1 main.js")})
		start(w, f.ID)
		ask := messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 4, CreatorID: "me"}
		_, err := w.Try(ask, nil)
		w.IsError(err, messages.FleetCapacityExceeded)
		end(w, &e.last().Game)
		assert.OK(w.Try(ask, nil))(w)
		_, err = w.Try(ask, nil)
		w.IsError(err, messages.LimitExceeded)
	})
}

func TestAFleetOfTheOperatorHasBothBounds(t *testing.T) {
	scripted(t, func(_ *engine, o *actors.Options) {
		o.Fleet.Scripts = []catalog.Script{{Record: &messages.Script{ID: "script-own", Contents: 1},
			Bundle: &bundle.Bundle{Files: map[string][]byte{"main.js": []byte("good")}}}}
		o.Fleet.Fleets = append(o.Fleet.Fleets, &messages.Fleet{ID: "fleet-own", ScriptID: "script-own", GameSessionsMax: 2, Locations: []string{actorstest.Home}})
	}, func(w *world, _ *engine) {
		assert.NoError(w, messages.Run(context.Background(), w.System, messages.ScriptsLoaded{}))
		for range 2 {
			if g := start(w, "fleet-own"); g.ScriptVersion != "1" {
				w.Error(g.ScriptVersion)
			}
		}
		_, err := w.Try(create("fleet-own", ""), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
	})
}

func TestAnArchiveThatIsRefusedIsNamed(t *testing.T) {
	scripted(t, nil, func(w *world, _ *engine) {
		for _, zip := range [][]byte{{}, []byte("x"), archive("a.txt"), archive("../a.js")} {
			_, err := messages.Do(context.Background(), w.System, messages.CreateScript{Zip: zip})
			w.IsError(err, messages.InvalidRequest)
		}
		s := newScript(w, "main.js=good")
		_, err := messages.Do(context.Background(), w.System, messages.UpdateScript{ID: s.ID, Zip: archive("a.txt")})
		w.IsError(err, messages.InvalidRequest)
	})
}

package fleet_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/counters"
)

// standing runs a test in which programs request stand-by processes.
func standing(t *testing.T, n int, test func(w *world, e *engine)) {
	t.Helper()
	scripted(t, func(e *engine, _ *actors.Options) { e.standby = n }, test)
}

// D-127.
func TestStandbyProcessesAreKeptTakenAndReplaced(t *testing.T) {
	standing(t, 2, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("3 main.js loggingLevel:DEBUG")})
		if n := w.System.Live(counters.ActorGameSession); n != 2 {
			w.Fatalf("%d processes stand by", n)
		}
		waiting := e.handlers[0]
		waiting.Take()
		first := start(w, f.ID)
		if calls := waiting.Take(); len(calls) != 1 || !strings.HasPrefix(calls[0], "start") {
			w.Errorf("the first that was ready was not taken: %v", calls)
		}
		assert.Equal(w, "processes were started", len(e.handlers), 3)
		start(w, f.ID)
		start(w, f.ID)
		if n := w.System.Live(counters.ActorGameSession); n != 3 || len(e.handlers) != 3 {
			w.Errorf("%d processes of three", n)
		}
		// What the process logged before it had a game session appears in the game session's log.
		if lines := e.lines[first.ID]; len(lines) == 0 || lines[0] != "INFO hello from 1 (1.0)" {
			w.Errorf("log %q", lines)
		}
		end(w, &waiting.Game)
		if !e.closed[first.ID] {
			w.Error("its log is open")
		}
		assert.Equal(w, "processes after one has ended: no new one", w.System.Live(counters.ActorGameSession), 3)
	})
}

// A version that does not run is reported only once in the events, together with what it logged, no matter how often it
// is tried. The next version is reported again.
func TestAScriptThatDoesNotRunIsReportedOnce(t *testing.T) {
	var log spool
	scripted(t, func(e *engine, o *actors.Options) {
		e.standby, o.Log = 1, zerolog.New(&log).Level(zerolog.InfoLevel)
	}, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		for n, text := range []string{"not ready", "throws", "not ready"} {
			update(w, s.ID, "", "main.js="+text)
			w.Pass(time.Minute)
			if got := log.count("script does not run"); got != n+1 {
				w.Errorf("%s: said %d times:\n%s", text, got, &log)
			}
		}
		if log.count("hello from 2") != 1 || log.count("x is not defined") != 1 || log.count("game session crashed") != 0 {
			w.Errorf("%s", &log)
		}
	})
}

// spool records everything that is written to it.
type spool struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spool) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *spool) count(text string) int { return strings.Count(s.String(), text) }

// A stand-by process ends when it has just received a game session. If the game session is changed before the registry
// notices that end, the replacement process must use the change.
func TestAGameSessionWhoseStandbyProcessEndedKeepsItsNewState(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		meanwhile func(w *world, g *messages.GameSession, id messages.ScriptID)
		then      messages.GameSessionStatus
		says      string // version, or the reason why the game session ended
	}{
		"nothing": {func(*world, *messages.GameSession, messages.ScriptID) {}, messages.GameSessionActive, "1 (1.0)"},
		"updated": {func(w *world, _ *messages.GameSession, id messages.ScriptID) { update(w, id, "", "main.js=two") }, messages.GameSessionActive, "2 (1.0)"},
		"deleted": {func(w *world, g *messages.GameSession, _ messages.ScriptID) {
			if err := messages.Run(ctx, w.System, messages.DeleteFleet{ID: g.FleetID}); err != nil {
				w.Error(err)
			}
		}, messages.GameSessionTerminated, "fleet deleted"},
		"terminated": {func(w *world, g *messages.GameSession, _ messages.ScriptID) {
			if _, err := terminate(w, g.ID, false); err != nil {
				w.Error(err)
			}
		}, messages.GameSessionTerminated, "terminated by the service API"},
		"drained": {func(w *world, _ *messages.GameSession, _ messages.ScriptID) { drain(w, time.Hour) }, messages.GameSessionTerminated, "host shut down"},
		"slow":    {func(w *world, _ *messages.GameSession, id messages.ScriptID) { update(w, id, "", "main.js=slow start") }, messages.GameSessionActivating, "2 (1.0)"},
	} {
		t.Run(name, func(t *testing.T) {
			standing(t, 1, func(w *world, e *engine) {
				s := newScript(w, "main.js=one")
				f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
				idle, gate := e.last(), make(chan struct{})
				idle.Session.Do(func() { <-gate; idle.Session.Exit(1) })
				g := assert.Value(w.Try(create(f.ID, ""), nil))(w)
				c.meanwhile(w, g, s.ID)
				close(gate)
				g = w.Game(g.ID)
				if got := g.ScriptVersion; g.Status != c.then || c.says != g.EndText && c.says != got && c.then != messages.GameSessionActivating {
					w.Errorf("it is %v, of version %s, %q", g.Status, got, g.EndText)
				}
				if name == "deleted" {
					assert.Equal(w, "status", theFleet(w, f.ID).Status, messages.FleetTerminated)
				}
				if name == "slow" {
					w.Pass(301 * time.Second)
					if got := happened(w, f.ID); !slices.Contains(got, "GAME_SESSION_ACTIVATION_TIMEOUT") {
						w.Error(got)
					}
				}
			})
		})
	}
}

func TestAStuckProcessEndsItsGameSessionOnly(t *testing.T) {
	standing(t, 0, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		g := start(w, f.ID)
		stuck := e.last()
		if stuck.processConfig.Stuck == nil || stuck.processConfig.Counters != w.Count || stuck.processConfig.Fleet.ID != f.ID {
			w.Errorf("%+v", stuck.processConfig)
		}
		other := start(w, f.ID)
		stuck.Session.Do(func() { stuck.Session.Crash("lost") })
		w.WaitIdle()
		if a, b := w.Game(g.ID).Status, w.Game(other.ID).Status; a != messages.GameSessionTerminated || b != messages.GameSessionActive {
			w.Error(a, b)
		}
		events := eventsOf(w, f.ID)
		if last := events[len(events)-1]; last.Code != "SERVER_PROCESS_CRASHED" || !strings.Contains(last.Message, "version 1 (1.0) ended: lost") {
			w.Errorf("%+v", last)
		}
	})
}

func TestADrainEndsStandbyProcessesAndLoadsNothing(t *testing.T) {
	standing(t, 2, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		start(w, f.ID)
		e.gate = make(chan struct{})
		go func() {
			_, _ = messages.Do(context.Background(), w.System, messages.UpdateScript{ID: s.ID, Zip: archive("main.js=two")})
		}()
		w.WaitIdle()
		assert.Equal(w, "drained after", <-drain(w, time.Hour), 0)
		assert.Equal(w, "processes are left", w.System.Live(counters.ActorGameSession), 0)
		close(e.gate)
		w.WaitIdle()
	})
}

func TestAReplacedScriptReportsItsOutcome(t *testing.T) {
	standing(t, 1, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		start(w, f.ID)
		crashing := e.handlers[0]
		replace := func(text string, wait time.Duration) messages.UpdatedScript {
			w.Helper()
			b := &bundle.Bundle{Files: map[string][]byte{"main.js": []byte(text)}}
			type answer struct {
				messages.UpdatedScript
				error
			}
			got := make(chan answer, 1)
			go func() {
				c, err := messages.Do(context.Background(), w.System, catalog.ChangeScript{Request: messages.UpdateScript{ID: s.ID, Wait: wait}, Bundle: b})
				got <- answer{c, err}
			}()
			w.Pass(wait)
			select {
			case a := <-got:
				if a.error != nil {
					w.Fatal(a.error)
				}
				return a.UpdatedScript
			default:
				w.Fatalf("%s: no answer after %v", text, wait)
				return messages.UpdatedScript{}
			}
		}
		if c := replace("never ready", 9*time.Second); !c.Loading || len(c.Refused) != 0 {
			w.Errorf("too early to tell: %+v", c)
		}
		if c := replace("never ready", 12*time.Second); c.Loading || len(c.Refused) != 1 || !strings.Contains(c.Refused[0], "onProcessStarted") {
			w.Errorf("never ready: %+v", c)
		}
		if c := replace("syntax error", time.Second); c.Loading || len(c.Refused) != 1 || !strings.Contains(c.Refused[0], "main.js:3:14") {
			w.Errorf("syntax error: %+v", c)
		}
		// Other events of the fleet that occur at the same time do not count as the outcome.
		crashing.Session.Do(func() { crashing.Session.Crash("an old one") })
		if c := replace("two", time.Second); c.Loading || len(c.Refused) != 0 || c.Script.Contents != 5 {
			w.Errorf("good: %+v", c)
		}
		if g := start(w, f.ID); g.ScriptVersion != "5 (1.0)" {
			w.Error(g.ScriptVersion)
		}
	})
}

// The memory of a process is freed when its game session has ended, although the API still shows the game session.
func TestAnEndedGameSessionHoldsNoProcess(t *testing.T) {
	standing(t, 0, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("3 main.js")})
		var held []weak.Pointer[instance]
		for range 3 {
			start(w, f.ID)
		}
		e.mu.Lock()
		all := e.handlers
		e.handlers = nil
		e.mu.Unlock()
		for n, i := range all {
			held = append(held, weak.Make(i))
			if n > 0 { // the first process was only a trial start
				end(w, &i.Game)
			}
		}
		clear(all)
		for range 3 { // weak pointers may need more than one collection
			runtime.GC()
		}
		for i, p := range held {
			if p.Value() != nil {
				w.Errorf("process %d is still there", i)
			}
		}
	})
}

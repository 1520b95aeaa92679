package hosting

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// owner is an actor with a Hosting. It replaces the catalog and the game sessions, and records the calls it receives.
type owner struct {
	h      *Hosting
	newest *catalog.Content
	told   []string
	events []string // events of the fleet, each as "CODE message"
}

func (o *owner) Started(c *stage.Context) { o.h.Started(c) }
func (o *owner) Stopped(*stage.Context)   { o.h.Stopped() }

func (o *owner) Receive(_ *stage.Context, msg any) {
	switch m := msg.(type) {
	case func():
		m()
	case gamesession.Over:
		o.h.Over(m.Ref, m.Text)
	case stage.Exited:
		o.h.Exited(m.Ref, m.Crash)
	default:
		o.h.Receive(msg)
	}
}

func (o *owner) tell(what string) { o.told = append(o.told, what) }

func (o *owner) Contents(messages.ScriptID) (newest, earlier *catalog.Content) { return o.newest, nil }
func (o *owner) FleetEvent(_ messages.FleetID, code, message string) {
	o.tell(code)
	o.events = append(o.events, code+" "+message)
}
func (o *owner) FleetRuns(messages.FleetID)  { o.tell("runs") }
func (o *owner) FleetFails(messages.FleetID) { o.tell("fails") }
func (o *owner) ContentRuns(_ messages.ScriptID, everywhere bool) {
	o.tell(fmt.Sprint("content runs ", everywhere))
}
func (o *owner) VersionReplaced(messages.FleetID) { o.tell("replaced") }
func (o *owner) RoomFound(messages.FleetID)       { o.tell("room") }

// world is an owner in a bubble. It has a fleet whose script is content 1: main.js with the text "one".
type world struct {
	*testing.T
	owner
	ref   *stage.Ref
	fleet *messages.Fleet
	gate  chan struct{} // if not nil, programs are loaded only after it is closed
	made  atomic.Int64  // number of programs created
	open  atomic.Int64
	store testStore
}

// testStore is a store in memory.
type testStore struct {
	store.Memory
	puts int           // number of marks written
	hold chan struct{} // if not nil, commits are answered only after it is closed
	err  error         // the error of commits
}

// Commit implements store.Store.
func (s *testStore) Commit(changes []store.Change, done func(error)) {
	for _, c := range changes {
		if c.Value != nil {
			s.puts++
		}
	}
	if s.hold == nil {
		s.Memory.Commit(changes, done)
		return
	}
	hold := s.hold
	go func() {
		<-hold
		if done != nil {
			done(s.err)
		}
	}()
}

// run runs a test with a fleet that has the given number of stand-by processes. It fails if a program is still open at
// the end.
func run(t *testing.T, standby int, test func(w *world)) {
	t.Helper()
	runAfter(t, nil, "", (*world).first, func(w *world) {
		w.runs("1 (1.0): one")
		w.told, w.events = nil, nil
		w.fleet.Standby = standby
		w.configure("5 main.js")
		w.told, w.events = nil, nil
		test(w)
	})
}

// runAfter runs a test without stand-by processes. It simulates that the previous process left marks and, if crash is
// not empty, crashed. Each key of marks is the text of a content that consists of main.js only. first provides the
// content at the start.
func runAfter(t *testing.T, marks map[string]mark, crash string, first, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		w := &world{T: t}
		for text, m := range marks {
			w.store.Memory.Commit([]store.Change{store.Put(store.Trial, keyOf(text), m)}, nil)
		}
		var err error
		if w.h, err = New(Options{
			NewProgram: w.load, Settings: func(*messages.Fleet) gamesession.Settings { return gamesessiontest.Settings() }, Catalog: w, Listener: w, Store: &w.store, Crash: crash,
		}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			s.Close()
			w.h.Wait()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
			assert.Equal(t, "programs are open", w.open.Load(), 0)
		}()
		w.ref = s.Spawn(&w.owner)
		w.fleet = &messages.Fleet{ID: "fleet-a", ScriptID: "script-a", Locations: []string{"home"}}
		first(w)
		test(w)
	})
}

func (w *world) first() {
	w.content(1, "main.js=one")
	w.configure("5 main.js")
}

// load creates a program from a text that says how the program behaves.
func (w *world) load(b *bundle.Bundle, entry string, _ *messages.Fleet) (script.Program, error) {
	if w.gate != nil {
		<-w.gate
	}
	switch text := string(b.Files[entry]); text {
	case "syntax error":
		return nil, errors.New(entry + ":3:14: unexpected }")
	case "panic":
		panic("a bug in the compiler")
	default:
		w.made.Add(1)
		w.open.Add(1)
		return &testProgram{w: w, text: text}, nil
	}
}

type testProgram struct {
	w    *world
	text string
}

func (*testProgram) Version() string { return "" }
func (p *testProgram) Close()        { p.w.open.Add(-1) }

func (p *testProgram) NewHandler(script.Process) (script.Handler, error) {
	if p.text == "no handler" {
		return nil, errors.New("no room for it")
	}
	return &testHandler{text: p.text}, nil
}

type testHandler struct {
	script.Base
	text string
}

func (h *testHandler) Init(script.Session) error {
	if h.text == "throws" {
		return errors.New("x is not defined")
	}
	return nil
}

func (h *testHandler) OnProcessStarted([]string) script.Decision {
	if h.text == "never ready" {
		return script.Later(new(script.Pending))
	}
	return script.AllowIf(h.text != "not ready")
}

// do runs f in the actor and waits until its consequences have been handled.
func (w *world) do(f func()) {
	w.ref.Tell(f)
	synctest.Wait()
}

// pass lets time pass. The test's earlier reads of the owner's state happen before everything that a timer triggers.
func (w *world) pass(d time.Duration) {
	w.do(func() {})
	stagetest.Pass(d)
}

// content sets the newest content to the given files, each given as "name=text".
func (w *world) content(n int, files ...string) {
	b := &bundle.Bundle{Files: map[string][]byte{}}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		b.Files[name] = []byte(text)
	}
	w.newest = &catalog.Content{Number: n, Version: fmt.Sprintf("%d (1.0)", n), Bundle: b}
}

// configure sets the processes of the fleet, each given as "number path parameters".
func (w *world) configure(specs ...string) {
	w.Helper()
	f := *w.fleet
	f.Runtime.Processes = nil
	for _, s := range specs {
		p := messages.ServerProcess{}
		if _, err := fmt.Sscanf(s, "%d %s %s", &p.Concurrent, &p.LaunchPath, &p.Parameters); p.LaunchPath == "" {
			w.Fatal(err)
		}
		f.Runtime.Processes = append(f.Runtime.Processes, p)
	}
	w.fleet = &f
	w.do(func() { w.h.Configure(w.fleet) })
}

// outcome is the answer to a Reload.
type outcome struct {
	answered, pending bool
	refused           []string
}

// update sets the newest content to the given files and reloads the fleet.
func (w *world) update(files ...string) *outcome {
	w.Helper()
	out := new(outcome)
	w.do(func() {
		w.content(w.newest.Number+1, files...)
		w.h.Reload(w.fleet.ScriptID, 10*time.Second, func(refused []string, pending bool) { *out = outcome{true, pending, refused} })
	})
	return out
}

// runs fails unless new game sessions get "version: text parameters".
func (w *world) runs(want string) {
	w.Helper()
	got := ""
	w.do(func() {
		if p := w.h.Free(w.fleet.ID, "home"); p != nil {
			got = strings.TrimSpace(p.Version() + ": " + p.program.Program.(*testProgram).text + " " + p.config.spec.Parameters)
		}
	})
	assert.Equal(w, "new game sessions run", got, want)
}

// is fails unless the owner was called as given in told.
func (w *world) is(what string, told ...string) {
	w.Helper()
	if !slices.Equal(w.told, told) {
		w.Errorf("%s: told %q, want %q", what, w.told, told)
	}
	w.told = nil
}

// New game sessions get a version only after a process has become ready with it. A version that cannot be loaded
// changes nothing.
func TestAVersionIsProvenBeforeGameSessionsGetIt(t *testing.T) {
	run(t, 1, func(w *world) {
		assert.Equal(t, "reasons", len(w.update("main.js=syntax error").refused), 1)
		w.is("one that does not load", catalog.EventNotRunnable, "runs")
		w.runs("1 (1.0): one")
		assert.Equal(t, "reasons", len(w.update("main.js=three").refused), 0)
		w.is("a better one", catalog.EventGeneric, "replaced", "runs", "content runs true", "room")
		w.runs("3 (1.0): three")
		assert.Equal(t, "processes stand by", w.h.Standbys(), 1)
		assert.Equal(t, "programs", w.made.Load(), 2)
		w.do(func() { w.h.Remove(w.fleet.ID) })
		w.runs("")
		assert.Equal(t, "processes are left", w.h.Standbys(), 0)
	})
}

// realtime.md 19.1: a version that does not run affects nothing else.
func TestAContentThatDoesNotRunChangesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"main.js=syntax error": "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE main.js:3:14: unexpected }",
		"main.js=panic":        "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE the engine failed on it: a bug",
		"other.js=":            "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND launch path main.js: the script has no such file; it has other.js",
		"main.js=throws":       "SERVER_PROCESS_CRASHED a process ended before it had a game session:\ninit failed: x is not defined",
		"main.js=not ready":    "SERVER_PROCESS_CRASHED a process ended before it had a game session:\nonProcessStarted",
		"main.js=no handler":   "SERVER_PROCESS_CRASHED a process ended before it had a game session:\nno room",
	} {
		t.Run(text, func(t *testing.T) {
			run(t, 0, func(w *world) {
				if out := w.update(text); !out.answered || out.pending || len(out.refused) != 1 {
					t.Errorf("answered at once with %+v", out)
				}
				if len(w.events) != 1 || !strings.HasPrefix(w.events[0], want) || !strings.HasSuffix(w.events[0], "go on with version 1 (1.0)") {
					t.Errorf("events %q", w.events)
				}
				w.runs("1 (1.0): one")
				w.update("main.js=fixed")
				w.runs("3 (1.0): fixed")
			})
		})
	}
}

func TestAProcessThatDoesNotBecomeReadyIsTriedAgainLaterAndLater(t *testing.T) {
	run(t, 1, func(w *world) {
		w.update("main.js=not ready")
		w.pass(time.Minute) // retries after 1, 2, 4, 8 and 16 s
		assert.Equal(t, "crashes", len(w.events), 6)
		w.runs("1 (1.0): one")
		assert.Equal(t, "processes stand by", w.h.Standbys(), 1)
		w.update("main.js=three") // an update is tried at once, in spite of the pause
		w.runs("3 (1.0): three")
	})
}

// A version that cannot be loaded ends the attempts to start the previous version.
func TestAVersionThatDoesNotLoadEndsTheAttemptsOfTheOneBefore(t *testing.T) {
	for _, before := range []string{"not ready", "never ready"} {
		run(t, 1, func(w *world) {
			w.update("main.js=" + before)
			w.update("main.js=syntax error")
			events := len(w.events)
			w.pass(time.Minute)
			assert.Equal(t, "events, a minute later", len(w.events), events)
			assert.Equal(t, "open programs", w.open.Load(), 1)
			assert.Equal(t, "processes stand by", w.h.Standbys(), 1)
			w.runs("1 (1.0): one")
		})
	}
}

// While a newer version is being loaded, game sessions continue. The outcome of the previous version does not answer
// the update to the newer one. If several updates arrive in the meantime, the newest content is loaded.
func TestAnUpdateIsNotAnsweredByTheVersionBefore(t *testing.T) {
	for _, before := range []string{"not ready", "two"} {
		run(t, 1, func(w *world) {
			w.update("main.js=" + before) // will be retried after a second
			gate := make(chan struct{})
			w.gate = gate
			outs := []*outcome{w.update("main.js=three"), w.update("main.js=four")}
			w.pass(3 * time.Second)
			w.runs(map[string]string{"not ready": "1 (1.0): one", "two": "2 (1.0): two"}[before])
			made := w.made.Load()
			for _, out := range outs {
				assert.Equal(t, "answered while it was loaded", out.answered, false)
			}
			close(gate)
			synctest.Wait()
			for _, out := range outs {
				if !out.answered || len(out.refused) != 0 {
					t.Errorf("answered with %+v", out)
				}
			}
			w.runs("4 (1.0): four")
			assert.Equal(t, "more programs", w.made.Load()-made, 2)
		})
	}
}

func TestAnUpdateReportsItsOutcome(t *testing.T) {
	run(t, 1, func(w *world) {
		out := w.update("main.js=never ready")
		w.pass(10*time.Second - time.Millisecond)
		assert.Equal(t, "answered", out.answered, false)
		w.pass(time.Millisecond)
		if !out.answered || !out.pending && (len(out.refused) != 1 || !strings.Contains(out.refused[0], "onProcessStarted")) {
			t.Errorf("never ready: %+v", out)
		}
		w.gate = make(chan struct{})
		out = w.update("main.js=three")
		w.pass(10 * time.Second)
		if !out.answered || !out.pending || len(out.refused) != 0 {
			t.Errorf("too early to tell: %+v", out)
		}
		close(w.gate)
		synctest.Wait()
		w.runs("3 (1.0): three")
	})
}

// If a new runtime configuration does not run, the old one remains in use.
func TestAConfigurationThatDoesNotRunLeavesTheOldOne(t *testing.T) {
	run(t, 1, func(w *world) {
		w.update("a.js=a", "b.js=syntax error", "c.js=c", "main.js=one")
		w.configure("5 b.js")
		w.runs("2 (1.0): one")
		w.configure("5 c.js")
		w.runs("2 (1.0): c")
		assert.Equal(t, "open programs", w.open.Load(), 1)
		// The newest version is broken, so a process with other parameters runs the last good version.
		w.update("c.js=throws")
		w.configure("5 c.js new")
		w.runs("2 (1.0): c new")
		w.update("c.js=fixed")
		w.runs("4 (1.0): fixed new")
		assert.Equal(t, "processes stand by", w.h.Standbys(), 1)
	})
}

// If a version is renamed, new game sessions show the new name. The previous version keeps its name.
func TestAVersionIsNamedAnew(t *testing.T) {
	run(t, 0, func(w *world) {
		rename := func(name string) {
			w.do(func() { w.newest.Version = name; w.h.Relabel(w.fleet.ScriptID) })
		}
		rename("1 (1.1)")
		w.runs("1 (1.1): one")
		w.update("main.js=throws")
		rename("2 (2.1)")
		w.runs("1 (1.1): one")
		w.gate = make(chan struct{})
		w.update("main.js=three")
		rename("3 (3.1)") // while the version is being loaded
		close(w.gate)
		synctest.Wait()
		w.runs("3 (3.1): three")
	})
}

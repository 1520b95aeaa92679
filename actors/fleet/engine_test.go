package fleet_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/hosting"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

// engine creates programs from files whose text says how they behave, and counts the open ones. It replaces the real
// engines, which compile and run JavaScript. The registry treats both in the same way.
type engine struct {
	mu       sync.Mutex
	standby  int
	gate     chan struct{}     // if not nil, NewProgram waits until it is closed
	now      map[string]string // replaces texts, to simulate that a dependency of a program has disappeared
	open     int               // number of open programs
	made     int
	handlers []*instance
	lines    map[messages.GameSessionID][]string
	closed   map[messages.GameSessionID]bool
}

type testProgram struct {
	e       *engine
	version string
	text    string
}

// instance is one server process.
type instance struct {
	actorstest.Game
	program       *testProgram
	processConfig script.Process
}

func (e *engine) newProgram(b *bundle.Bundle, entry string, _ *messages.Fleet) (script.Program, error) {
	if e.gate != nil {
		<-e.gate
	}
	text := string(b.Files[entry])
	if other, ok := e.now[text]; ok {
		text = other
	}
	switch text {
	case "syntax error":
		return nil, errors.New(entry + ":3:14: unexpected }")
	case "panic":
		panic("a bug in the compiler")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open++
	e.made++
	return &testProgram{e: e, version: b.Version, text: text}, nil
}

func (p *testProgram) Version() string { return p.version }

func (p *testProgram) Standby() int { return p.e.standby }

func (p *testProgram) NewHandler(process script.Process) (script.Handler, error) {
	i := &instance{program: p, processConfig: process}
	switch p.text {
	case "no handler":
		return nil, errors.New("no room for it")
	case "throws":
		i.OnInit = func(script.Session) error { return errors.New("x is not defined") }
	case "not ready":
		i.Game.Started = func() bool { return false }
	case "slow start":
		return &slowStart{instance: i}, nil
	case "never ready":
		return &neverReady{instance: i}, nil
	}
	i.processConfig.Log.Info("hello from", p.version)
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.e.handlers = append(p.e.handlers, i)
	return i, nil
}

// slowStart never decides whether the game session may start.
type slowStart struct{ *instance }

func (s *slowStart) OnStartGameSession(*messages.GameSession) script.Decision {
	return script.Later(new(script.Pending))
}

// neverReady never decides whether the process is ready.
type neverReady struct{ *instance }

func (*neverReady) OnProcessStarted([]string) script.Decision {
	return script.Later(new(script.Pending))
}

func (p *testProgram) Close() {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.e.open--
}

func (e *engine) programs() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// last returns the newest server process.
func (e *engine) last() *instance {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handlers[len(e.handlers)-1]
}

// sink records the lines of a game session's log.
type sink struct {
	e  *engine
	id messages.GameSessionID
}

func (s sink) Write(l script.Line) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.lines[s.id] = append(s.e.lines[s.id], l.Level.String()+" "+l.Text)
}

func (s sink) Close() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.closed[s.id] = true
}

// scripted runs a test with an engine. It fails if a program is still open at the end.
func scripted(t *testing.T, change func(e *engine, o *actors.Options), test func(w *world, e *engine)) {
	t.Helper()
	e := &engine{lines: map[messages.GameSessionID][]string{}, closed: map[messages.GameSessionID]bool{}}
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.NewProgram = e.newProgram
		o.Fleet.OpenLog = func(id messages.GameSessionID, _ *messages.Fleet) script.Sink { return sink{e, id} }
		if change != nil {
			change(e, o)
		}
	}, func(w *world) { test(w, e) })
	assert.Equal(t, "programs are still open", e.programs(), 0)
}

// archive returns a zip archive of files, each given as "name=text".
func archive(files ...string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func newScript(w *world, files ...string) *messages.Script {
	w.Helper()
	return assert.Value(messages.Do(context.Background(), w.System, messages.CreateScript{Name: "game", Version: "1.0", Zip: archive(files...)}))(w)
}

func update(w *world, id messages.ScriptID, version string, files ...string) {
	w.Helper()
	assert.OK(messages.Do(context.Background(), w.System, messages.UpdateScript{ID: id, Version: version, Zip: archive(files...)}))(w)
	w.WaitIdle()
}

func newFleet(w *world, q messages.CreateFleet) *messages.Fleet {
	w.Helper()
	q.Locations = []string{actorstest.Home}
	f := assert.Value(messages.Do(context.Background(), w.System, q))(w)
	w.WaitIdle()
	return f
}

func processes(specs ...string) (rc messages.RuntimeConfiguration) {
	for _, s := range specs {
		p := messages.ServerProcess{Concurrent: 1}
		if _, err := fmt.Sscanf(s, "%d %s %s", &p.Concurrent, &p.LaunchPath, &p.Parameters); err != nil && p.LaunchPath == "" {
			panic(err)
		}
		rc.Processes = append(rc.Processes, p)
	}
	return rc
}

func theFleet(w *world, id messages.FleetID) *messages.Fleet {
	w.Helper()
	all := assert.Value(messages.Do(context.Background(), w.System, messages.FleetQuery{}))(w)
	for _, f := range all {
		if f.ID == id {
			return f
		}
	}
	w.Fatalf("no fleet %s", id)
	return nil
}

// happened returns the events of a fleet, each as "CODE" or "CODE xN".
func happened(w *world, id messages.FleetID) (codes []string) {
	w.Helper()
	for _, e := range eventsOf(w, id) {
		if e.Count > 1 {
			codes = append(codes, fmt.Sprintf("%s x%d", e.Code, e.Count))
		} else {
			codes = append(codes, e.Code)
		}
	}
	return codes
}

func eventsOf(w *world, id messages.FleetID) []messages.FleetEvent {
	w.Helper()
	return assert.Value(messages.Do(context.Background(), w.System, messages.FleetEventQuery{ID: id}))(w)
}

// start creates a game session. The game session must become ACTIVE.
func start(w *world, id messages.FleetID) *messages.GameSession {
	w.Helper()
	g := assert.Value(w.Try(messages.CreateGameSession{FleetID: id, MaxPlayers: 4}, nil))(w)
	if g = w.Game(g.ID); g.Status != messages.GameSessionActive {
		w.Fatalf("it is %v: %s", g.Status, g.EndText)
	}
	return g
}

var _ hosting.Standby = (*testProgram)(nil)

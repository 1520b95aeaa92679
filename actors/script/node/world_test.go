package node_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/node"
	"troupe/messages"
)

// need skips a test if Node.js is not installed.
func need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not on PATH: its engine cannot be tested here")
	}
}

// log records the log of one game session.
type log struct {
	mu     sync.Mutex
	lines  []string
	closed bool
	late   int // number of lines after the log was closed
}

func (l *log) Write(line script.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.late++
	}
	l.lines = append(l.lines, fmt.Sprintf("[%s] (%s) %d: %s", line.Level, line.File, line.Row, line.Text))
}

func (l *log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func (l *log) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// game is a game session with a script, run by real actors.
type game struct {
	*actorstest.World
	t       testing.TB
	program *node.Program
	handler script.Handler
	session script.Session
	log     log
	id      messages.GameSessionID
	closed  chan struct{} // closed when the actor has closed the handler
	dir     string
	marks   []string // process IDs that the script has written to the file
}

// setup contains the options of a game.
type setup struct {
	files       map[string]string // files in addition to server.js
	entry       string
	limits      func(l *script.Limits)
	options     node.Options
	cpu         time.Duration // see node.Program.Bound
	processes   int
	nodeVersion string
	perProcess  int
	args        []string
	failing     bool // the game session is expected not to become ACTIVE
	short       bool // also run in short mode
	change      func(o *actors.Options)
}

// play runs a script in a game session. At the end it checks that no process or file is left.
func play(t *testing.T, source string, s setup, test func(g *game)) {
	t.Helper()
	need(t)
	if testing.Short() && !s.short {
		t.Skip("make test-full starts Node.js for it")
	}
	g := &game{t: t, dir: t.TempDir(), closed: make(chan struct{})}
	if s.options.UID != 0 { // a directory whose parents that user may access
		dir, err := os.MkdirTemp("", "troupe-user-")
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		g.dir = dir
	}
	g.program = program(t, g.dir, source, s)
	t.Cleanup(func() { // in case the test fails early
		g.program.Close()
		_ = os.Remove(pidFile(t))
	})
	actorstest.RunReal(t, s.change, func(w *actorstest.World) {
		g.World = w
		g.begin(s.args...)
		if !s.failing {
			g.await(messages.GameSessionActive)
		}
		test(g)
	})
	g.program.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := g.program.Wait(ctx); err != nil {
		t.Fatal("the program does not end:", err)
	}
	if n := g.World.Count.ScriptProcesses.Load(); n != 0 {
		t.Errorf("%d processes are counted", n)
	}
	if left, _ := filepath.Glob(g.dir + "/*"); len(left) != 0 {
		t.Error("files are left:", left)
	}
	g.nobodyLeft()
	if t.Failed() {
		t.Log("game session's log:\n" + g.log.String())
	}
}

// begin creates the game session.
func (g *game) begin(args ...string) {
	g.Helper()
	h, err := g.program.NewHandler(script.Process{Fleet: &messages.Fleet{ID: "fleet-1", Name: "arena"}, Args: args,
		Log: script.NewLog(&g.log, script.LevelDebug, nil), Counters: g.Count})
	if err != nil {
		g.Fatal(err)
	}
	g.handler = h
	g.id = g.Create(spy{h.(loader), g})
}

// another creates another game session of the same program.
func (g *game) another() *game {
	g.Helper()
	o := &game{World: g.World, t: g.t, program: g.program, dir: g.dir, closed: make(chan struct{})}
	o.begin()
	return o
}

func program(t testing.TB, dir, source string, s setup) *node.Program {
	t.Helper()
	entry := s.entry
	if entry == "" {
		entry = "server.js"
	}
	b := &bundle.Bundle{Files: map[string][]byte{entry: []byte(source)}, Version: "v-1", NodeVersion: "24.x"}
	if s.nodeVersion != "" {
		b.NodeVersion = s.nodeVersion
	}
	for name, text := range s.files {
		b.Files[name] = []byte(text)
	}
	if s.perProcess > 1 {
		var p map[string]any
		_ = json.Unmarshal([]byte(cmp.Or(string(b.Files["package.json"]), "{}")), &p)
		p["troupe"] = map[string]any{"engine": "node", "gamesPerProcess": s.perProcess}
		b.Files["package.json"], _ = json.Marshal(p)
	}
	l := actorstest.ScriptLimits()
	if s.limits != nil {
		s.limits(&l)
	}
	s.options.Dir = dir
	p, err := node.New(b, entry, l, s.options)
	if err != nil {
		t.Fatal(err)
	}
	p.Bound(s.cpu, s.processes)
	return p
}

type loader interface {
	script.Handler
	script.Loader
	script.Closer
}

// spy passes the session object to the test as well as to the handler.
type spy struct {
	loader
	g *game
}

func (s spy) Load(session script.Session) *script.Pending {
	s.g.session = session
	return s.loader.Load(session)
}

// Close tells the test that the actor does not use the handler any more.
func (s spy) Close() {
	s.loader.Close()
	close(s.g.closed)
}

// await waits until the game session has a status.
func (g *game) await(s messages.GameSessionStatus) {
	g.Helper()
	g.Until(func() string {
		record := g.Game(g.id)
		if record.Status == s {
			return ""
		}
		if record.Status == messages.GameSessionTerminated {
			g.Fatalf("ended: %s\n%s", record.EndText, &g.log)
		}
		return fmt.Sprintf("%v, want %v\n%s", record.Status, s, &g.log)
	})
}

// ended waits until the game session has ended, and checks that the reason contains words.
func (g *game) ended(words string) {
	g.Helper()
	g.Until(func() string {
		record := g.Game(g.id)
		if record.Status != messages.GameSessionTerminated {
			return fmt.Sprintf("%v\n%s", record.Status, &g.log)
		}
		if !strings.Contains(record.EndText, words) {
			g.Fatalf("ended: %q, want %q\n%s", record.EndText, words, &g.log)
		}
		return ""
	})
}

// interrupted waits until the watchdog has ended the script. The script must have printed that its endless
// code begins.
func (g *game) interrupted() {
	g.Helper()
	g.Until(func() string {
		if !strings.Contains(g.log.String(), "begun") && !node.Printed(g.handler, "begun") {
			return "not begun\n" + g.log.String()
		}
		return ""
	})
	g.Until(func() string {
		if g.Count.ScriptInterrupts.Load() == 0 {
			node.Overdue(g.handler)
			return "no interrupt"
		}
		return ""
	})
	g.ended("did not answer within 30s")
}

// logged waits until the log contains words.
func (g *game) logged(words string) {
	g.Helper()
	g.Until(func() string {
		if text := g.log.String(); !strings.Contains(text, words) {
			return fmt.Sprintf("%q is not in the log:\n%s", words, text)
		}
		return ""
	})
}

// player is a client that records what it receives.
type player struct {
	*actorstest.Client
	g   *game
	got []string
}

// open reserves a seat and sends a login.
func (g *game) open(payload string) *player {
	g.Helper()
	c := g.World.Open()
	c.LogIn(g.Seat(g.id), payload)
	return &player{Client: c, g: g}
}

// enter is open, and waits until the player is accepted.
func (g *game) enter() *player {
	g.Helper()
	p := g.open("")
	g.Until(func() string {
		if p.Handle.Attachment() == nil {
			return "not let in\n" + g.log.String()
		}
		return ""
	})
	p.gets(fmt.Sprintf("login %d", p.Peer()))
	return p
}

// gets waits until the player has received exactly these messages, in order.
func (p *player) gets(want ...string) {
	p.g.Helper()
	p.g.Until(func() string {
		p.got = append(p.got, p.Take()...)
		if len(p.got) < len(want) {
			return fmt.Sprintf("got %q, want %q\n%s", p.got, want, &p.g.log)
		}
		return ""
	})
	for i, w := range want {
		if p.got[i] != w {
			p.g.Fatalf("got %q, want %q\n%s", p.got, want, &p.g.log)
		}
	}
	p.got = p.got[len(want):]
}

// processes waits for the file to which the script writes its process IDs, and reads it.
func (g *game) processes() {
	g.Helper()
	g.Until(func() string {
		data, _ := os.ReadFile(g.file())
		if !strings.HasSuffix(string(data), "end\n") {
			return "no process ids are written"
		}
		g.marks = strings.Fields(strings.TrimSuffix(string(data), "end\n"))
		return ""
	})
}

func (g *game) file() string { return pidFile(g.t) }

func pidFile(t testing.TB) string {
	return filepath.Join(os.TempDir(), "troupe-test-"+strconv.Itoa(os.Getpid())+"-"+strings.ReplaceAll(t.Name(), "/", "_"))
}

// nobodyLeft fails the test if a process in the file is still alive.
func (g *game) nobodyLeft() {
	for _, mark := range g.marks {
		pid, err := strconv.Atoi(mark)
		if err != nil {
			g.t.Error(err)
			continue
		}
		until := time.Now().Add(time.Minute)
		for alive(pid) {
			if time.Now().After(until) {
				g.t.Errorf("process %d is alive", pid)
				_ = kill(pid)
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// alive reports whether a process exists and is not a zombie. A zombie only waits for its parent.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		after := stat[strings.LastIndexByte(string(stat), ')')+1:]
		return len(after) > 1 && after[1] != 'Z'
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	return err
}

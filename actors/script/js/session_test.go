package js

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/counters"
)

// game is a game session. The goroutine that calls play acts as the actor: it runs callbacks, timers and
// functions passed to Do, one at a time.
type game struct {
	node    string // Node.js version of the bundle
	log     *script.Log
	lines   lines
	handler script.Handler
	tasks   chan func()
	over    chan struct{}

	sent    []string
	players []script.Player
	ending  bool
	exit    *int
	crash   string
	stuck   func(reason string) // replaces the host's Stuck function if not nil
	handed  int                 // number of calls that handed over their goroutine's work

	counters counters.Set
}

type lines struct {
	during func() // if not nil, called inside the call that writes a line
	mu     sync.Mutex
	list   []script.Line
}

func (l *lines) Write(line script.Line) {
	if l.during != nil {
		l.during()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
}
func (l *lines) Close() {}

// String returns the log without times, one line per entry.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range l.list {
		fmt.Fprintf(&b, "[%s] (%s) %d: %s\n", line.Level, line.File, line.Row, line.Text)
	}
	return b.String()
}

func (g *game) Players() []script.Player { return g.players }
func (g *game) Logger() *script.Log      { return g.log }
func (g *game) Send(m script.Outgoing, to script.Target) {
	how := [...]string{"fast", "reliable", "fast group", "reliable group"}[to.How]
	g.sent = append(g.sent, fmt.Sprintf("%s op %d from %d to %d: %q", how, m.OpCode, m.Sender, to.ID, m.Payload))
}
func (g *game) BroadcastGroupMembershipUpdate(group, to messages.GroupID) {
	g.sent = append(g.sent, fmt.Sprintf("members of %d to %d", group, to))
}
func (g *game) KickPlayer(peer messages.PeerID, reason string) {
	g.sent = append(g.sent, fmt.Sprintf("kick %d: %s", peer, reason))
}
func (g *game) StartMatchBackfill() messages.TicketID {
	g.sent = append(g.sent, "start backfill")
	return "T"
}
func (g *game) StopMatchBackfill() { g.sent = append(g.sent, "stop backfill") }
func (g *game) ProcessEnding()     { g.ending = true }
func (g *game) Exit(code int) {
	if g.exit == nil {
		g.exit = &code
	}
}
func (g *game) Crash(reason string) {
	if g.exit == nil {
		g.exit, g.crash = new(int), reason
	}
}
func (g *game) After(d time.Duration, f func()) script.Timer {
	return gameTimer{time.AfterFunc(d, func() { g.Do(f) })}
}

type gameTimer struct{ timer *time.Timer }

func (t gameTimer) Reset(d time.Duration) { t.timer.Reset(d) }
func (t gameTimer) Stop()                 { t.timer.Stop() }
func (g *game) Do(f func()) bool {
	select {
	case g.tasks <- f:
		return true
	case <-g.over:
		return false
	}
}

// play runs the actor for d.
func (g *game) play(d time.Duration) {
	until := time.After(d)
	for g.exit == nil {
		select {
		case f := <-g.tasks:
			f()
		case <-until:
			return
		}
	}
}

// start loads the files and calls init. It fails the test on an error.
func start(t testing.TB, limits script.Limits, files map[string]string) *game {
	t.Helper()
	g, err := load(t, limits, files)
	if err != nil {
		t.Fatalf("%v\n%s", err, &g.lines)
	}
	return g
}

// only returns a script with a single file.
func only(source string) map[string]string { return map[string]string{"server.js": source} }

func load(t testing.TB, limits script.Limits, files map[string]string) (*game, error) {
	return loadInto(t, &game{}, limits, files)
}

// loadInto loads files into a game session whose log and Node.js version may already be set.
func loadInto(t testing.TB, g *game, limits script.Limits, files map[string]string) (*game, error) {
	g.tasks, g.over = make(chan func(), 1000), make(chan struct{})
	b := &bundle.Bundle{Files: map[string][]byte{}, Version: "v1", NodeVersion: cmp.Or(g.node, "24.x")}
	for name, source := range files {
		b.Files[name] = []byte(source)
	}
	p, err := New(b, "server.js", limits)
	if err != nil {
		return g, err
	}
	if g.log == nil {
		g.log = script.NewLog(&g.lines, script.LevelInfo, nil)
	}
	if g.handler, err = p.NewHandler(script.Process{Log: g.log, Counters: &g.counters, Stuck: func(reason string) {
		if g.stuck != nil {
			g.stuck(reason)
		}
	}, HandOver: func() { g.handed++ }}); err != nil {
		return g, err
	}
	t.Cleanup(func() {
		close(g.over)
		g.handler.(script.Closer).Close()
		p.Close()
	})
	return g, g.handler.Init(g)
}

// calm returns limits that are not exceeded even on a busy machine.
func calm() script.Limits {
	l := actorstest.ScriptLimits()
	l.Tick = 0
	return l
}

package acceptance_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// fakeGame is the game of a test: a script.Handler that records its calls. The test sets its functions; a nil
// function behaves like a script without that callback. It serves one game session. It is safe for concurrent
// use.
type fakeGame struct {
	script.Base
	// These fields are set before the start.
	conf                  script.Configuration
	connect               func(script.Session, *script.ConnectMessage) bool
	message               func(script.Session, *script.Message)
	joinGroup, leaveGroup func(messages.GroupID, messages.PeerID) bool
	terminating           func(script.Session)

	mu       sync.Mutex
	session  script.Session
	id       string // id of the game session, after its start
	calls    []string
	sent     []sentMessage
	running  int
	overlaps bool // whether a callback began while another was running
}

// sentMessage is a message that a callback received, with a copy of its payload.
type sentMessage struct {
	callback string
	script.Message
}

// make is the factory for startHost.
func (g *fakeGame) make() script.Handler { return g }

func (g *fakeGame) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, fmt.Sprintf(format, args...))
}

// all returns the calls so far.
func (g *fakeGame) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// count returns the number of calls that begin with prefix.
func (g *fakeGame) count(prefix string) (n int) {
	for _, c := range g.all() {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// await waits for a call.
func (g *fakeGame) await(t *testing.T, call string) {
	t.Helper()
	synctest.Wait()
	for end := time.Now().Add(patience); !slices.Contains(g.all(), call); time.Sleep(step) {
		if time.Now().After(end) {
			t.Fatalf("no call %q among\n%s", call, strings.Join(g.all(), "\n"))
		}
	}
}

// do runs f between callbacks and waits until it returns.
func (g *fakeGame) do(t *testing.T, f func(script.Session)) {
	t.Helper()
	g.mu.Lock()
	s := g.session
	g.mu.Unlock()
	done := make(chan struct{})
	if !s.Do(func() { f(s); close(done) }) {
		t.Fatal("the game session is over")
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Do did not run")
	}
}

// peers returns the peer ids of getPlayers in order.
func peers(s script.Session) []messages.PeerID {
	ids := []messages.PeerID{}
	for _, p := range s.Players() {
		ids = append(ids, p.PeerID)
	}
	return ids
}

// begin records the start of a callback. The caller calls done when the callback ends.
func (g *fakeGame) begin(format string, args ...any) (done func()) {
	g.note(format, args...)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.overlaps = g.overlaps || g.running > 0
	g.running++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
	}
}

// keep records a message.
func (g *fakeGame) keep(callback string, m *script.Message) {
	own := *m
	own.Payload = bytes.Clone(m.Payload)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, sentMessage{callback, own})
}

// messages returns the messages with an op code that the named callback received.
func (g *fakeGame) messages(callback string, op int32) (found []script.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.sent {
		if s.callback == callback && s.OpCode == op {
			found = append(found, s.Message)
		}
	}
	return found
}

// overlapped reports whether callbacks ever ran concurrently.
func (g *fakeGame) overlapped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.overlaps
}

func (g *fakeGame) Configuration() script.Configuration { return g.conf }

func (g *fakeGame) Init(s script.Session) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session = s
	return nil
}

func (g *fakeGame) OnStartGameSession(s *messages.GameSession) script.Decision {
	g.mu.Lock()
	g.id = string(s.ID)
	g.mu.Unlock()
	return script.Allow
}

func (g *fakeGame) OnProcessTerminate() script.Decision {
	defer g.begin("onProcessTerminate")()
	if g.terminating != nil {
		g.terminating(g.session)
	}
	return script.Allow
}

func (g *fakeGame) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	defer g.begin("onPlayerConnect %d %q", m.Player.PeerID, m.Payload)()
	return script.AllowIf(g.connect == nil || g.connect(g.session, m))
}

func (g *fakeGame) OnPlayerAccepted(p script.Player) {
	defer g.begin("onPlayerAccepted %d of %v", p.PeerID, peers(g.session))()
}

func (g *fakeGame) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	defer g.begin("onPlayerDisconnect %d of %v", peer, peers(g.session))()
	return script.Allow
}

func (g *fakeGame) OnMessage(m *script.Message) {
	defer g.begin("onMessage %d from %d reliable %v %q", m.OpCode, m.Sender, m.Reliable, m.Payload)()
	g.keep("onMessage", m)
	if g.message != nil {
		g.message(g.session, m)
	}
}

func (g *fakeGame) OnSendToPlayer(m *script.Message) script.Decision {
	defer g.begin("onSendToPlayer %d from %d to %d", m.OpCode, m.Sender, m.TargetPlayer)()
	g.keep("onSendToPlayer", m)
	return script.Allow
}

func (g *fakeGame) OnSendToGroup(m *script.Message) script.Decision {
	defer g.begin("onSendToGroup %d from %d to %d", m.OpCode, m.Sender, m.TargetGroup)()
	g.keep("onSendToGroup", m)
	return script.Allow
}

func (g *fakeGame) OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	defer g.begin("onPlayerJoinGroup %d %d", group, peer)()
	return script.AllowIf(g.joinGroup == nil || g.joinGroup(group, peer))
}

func (g *fakeGame) OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	defer g.begin("onPlayerLeaveGroup %d %d", group, peer)()
	return script.AllowIf(g.leaveGroup == nil || g.leaveGroup(group, peer))
}

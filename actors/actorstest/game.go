package actorstest

import (
	"fmt"
	"sync"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// Game is a script whose callbacks a test may set. A callback that is not set behaves as in a script that lacks it.
// Game records all calls.
type Game struct {
	script.Base
	Conf     script.Configuration
	OnInit   func(s script.Session) error
	Started  func() bool
	Start    func(g *messages.GameSession)
	Health   func() bool
	End      func()
	Connect  func(m *script.ConnectMessage) bool
	Accepted func(p script.Player)
	Detached func(peer messages.PeerID) script.Decision
	Back     func(peer messages.PeerID, info script.Reconnected)
	Gone     func(peer messages.PeerID)
	Message  func(m *script.Message)
	ToPlayer func(m *script.Message) bool
	ToGroup  func(m *script.Message) bool
	Join     func(g messages.GroupID, peer messages.PeerID) bool
	Leave    func(g messages.GroupID, peer messages.PeerID) bool

	Session script.Session // set by Init

	w     *World
	mu    sync.Mutex
	calls []string
}

func (g *Game) in(w *World) { g.w = w }

func (g *Game) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, fmt.Sprintf(format, args...))
}

// Take waits until all actors are idle and returns the callbacks since the last Take.
func (g *Game) Take() []string {
	if g.w != nil {
		g.w.WaitIdle()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.calls
	g.calls = nil
	return calls
}

// Peers returns the peer ids of the players, in order.
func (g *Game) Peers() []messages.PeerID {
	var ids []messages.PeerID
	for _, p := range g.Session.Players() {
		ids = append(ids, p.PeerID)
	}
	return ids
}

// Configuration implements script.Handler.
func (g *Game) Configuration() script.Configuration { return g.Conf }

// Init implements script.Handler.
func (g *Game) Init(s script.Session) error {
	g.note("init")
	g.Session = s
	if g.OnInit != nil {
		return g.OnInit(s)
	}
	return nil
}

// OnProcessStarted implements script.Handler.
func (g *Game) OnProcessStarted(args []string) script.Decision {
	g.note("started %v", args)
	return script.AllowIf(g.Started == nil || g.Started())
}

// OnStartGameSession implements script.Handler.
func (g *Game) OnStartGameSession(s *messages.GameSession) script.Decision {
	g.note("start %v", s.Status)
	if g.Start != nil {
		g.Start(s)
	}
	return script.Allow
}

// OnHealthCheck implements script.Handler.
func (g *Game) OnHealthCheck() script.Decision {
	g.note("health")
	return script.AllowIf(g.Health == nil || g.Health())
}

// OnProcessTerminate implements script.Handler.
func (g *Game) OnProcessTerminate() script.Decision {
	g.note("terminate")
	if g.End != nil {
		g.End()
	}
	return script.Allow
}

// OnPlayerConnect implements script.Handler.
func (g *Game) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	g.note("connect %d", m.Player.PeerID)
	return script.AllowIf(g.Connect == nil || g.Connect(m))
}

// OnPlayerAccepted implements script.Handler.
func (g *Game) OnPlayerAccepted(p script.Player) {
	g.note("accepted %d of %v", p.PeerID, g.Peers())
	if g.Accepted != nil {
		g.Accepted(p)
	}
}

// OnPlayerDetached implements script.Handler. Like OnPlayerReconnected, it is recorded only if the test has set the
// callback.
func (g *Game) OnPlayerDetached(peer messages.PeerID, reason string) script.Decision {
	if g.Detached == nil {
		return script.Hold
	}
	g.note("detached %d: %s", peer, reason)
	return g.Detached(peer)
}

// OnPlayerReconnected implements script.Handler.
func (g *Game) OnPlayerReconnected(peer messages.PeerID, info script.Reconnected) {
	if g.Back != nil {
		g.note("back %d: %+v", peer, info)
		g.Back(peer, info)
	}
}

// OnPlayerDisconnect implements script.Handler.
func (g *Game) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	g.note("gone %d of %v", peer, g.Peers())
	if g.Gone != nil {
		g.Gone(peer)
	}
	return script.Allow
}

// OnMessage implements script.Handler.
func (g *Game) OnMessage(m *script.Message) {
	g.note("message %d from %d to %d/%d: %s", m.OpCode, m.Sender, m.TargetPlayer, m.TargetGroup, m.Text())
	if g.Message != nil {
		g.Message(m)
	}
}

// OnSendToPlayer implements script.Handler.
func (g *Game) OnSendToPlayer(m *script.Message) script.Decision {
	return script.AllowIf(g.ToPlayer == nil || g.ToPlayer(m))
}

// OnSendToGroup implements script.Handler.
func (g *Game) OnSendToGroup(m *script.Message) script.Decision {
	return script.AllowIf(g.ToGroup == nil || g.ToGroup(m))
}

// OnPlayerJoinGroup implements script.Handler.
func (g *Game) OnPlayerJoinGroup(id messages.GroupID, peer messages.PeerID) script.Decision {
	g.note("join %d by %d", id, peer)
	return script.AllowIf(g.Join == nil || g.Join(id, peer))
}

// OnPlayerLeaveGroup implements script.Handler.
func (g *Game) OnPlayerLeaveGroup(id messages.GroupID, peer messages.PeerID) script.Decision {
	g.note("leave %d by %d", id, peer)
	return script.AllowIf(g.Leave == nil || g.Leave(id, peer))
}

// ScriptLimits returns the limits of scripts from realtime.md 18.3 and reliability.md 5.2.
func ScriptLimits() script.Limits {
	return script.Limits{Callback: 30 * time.Second, Tick: 50 * time.Millisecond, TimersMax: 10_000, MemoryMax: 256 << 20}
}

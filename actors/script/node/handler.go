package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"troupe/actors/script"
	"troupe/messages"
)

// handler is the game logic of one game session; its script runs in a child. Its fields belong to the game
// session's actor, unless they say otherwise.
type handler struct {
	p       *Program
	process script.Process
	child   *process            // set when the script is being loaded
	number  uint32              // of the game session in the child
	do      func(f func()) bool // script.Session.Do
	session script.Session
	loading *script.Pending
	conf    script.Configuration
	exports uint32 // set of the callbacks that the script exports
	over    bool   // the process has ended, or is about to
	fate    func() // called after the end of the process; set if the process has announced its end
	asked   script.Questions
	slow    script.SlowCalls

	// The child's reader fills batch, has handle called through do, and waits for handled or gone.
	batch   []fields
	at      int // frames of the batch that are handled
	handle  func()
	handled chan struct{} // capacity 1
	gone    chan struct{} // closed when the game session has ended

	mu    sync.Mutex
	ended bool // the log is closed; write nothing
}

var (
	_ script.Loader = (*handler)(nil)
	_ script.Closer = (*handler)(nil)
)

func newHandler(p *Program, process script.Process) *handler {
	h := &handler{p: p, process: process, handled: make(chan struct{}, 1), gone: make(chan struct{})}
	h.handle = func() {
		h.at += h.onFrames(h.batch[h.at:])
		if h.at == len(h.batch) || !h.do(h.handle) {
			h.handled <- struct{}{}
		}
	}
	return h
}

// Load implements script.Loader. It starts the process, unless another one has room.
func (h *handler) Load(s script.Session) *script.Pending {
	h.session, h.do, h.loading = s, s.Do, new(script.Pending)
	h.p.live.Go(func() {
		if err := h.p.place(h); err != nil {
			h.do(func() { h.onEnded("node cannot be started: " + err.Error()) })
		}
	})
	return h.loading
}

// Init is never called, because handler implements script.Loader.
func (h *handler) Init(script.Session) error { return nil }

// Close implements script.Closer. It ends the script, and the process if this was its last game session.
func (h *handler) Close() {
	h.over, h.fate = true, func() {}
	h.mu.Lock()
	h.ended = true
	c := h.child
	h.mu.Unlock()
	if c != nil {
		c.leave(h)
	}
	close(h.gone)
	h.p.live.Done()
}

// enter gives the game session its place in a child. It returns false if the game session has ended. It is
// safe for concurrent use with Close and say.
func (h *handler) enter(c *process, number uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.child, h.number = c, number
	}
	return !h.ended
}

// say writes to the game session's log. It is safe for concurrent use.
func (h *handler) say(level script.Level, file string, row int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.process.Log.At(level, file, row, text)
	}
}

// parameters returns what the child needs to load the script.
func (h *handler) parameters(metadata string) ([]byte, error) {
	data, err := json.Marshal(map[string]any{
		"entry": h.p.entry, "game": h.p.files.game, "metadata": metadata, "args": append([]string{}, h.process.Args...), "nodeVersion": h.p.nodeVersion,
		"logLevel": h.process.Log.Threshold(), "tickMs": h.p.limits.Tick.Milliseconds(), "timersMax": h.p.limits.TimersMax, "keepRunning": h.p.limits.KeepRunningOnError,
	})
	if err == nil && len(data) > frameMax-headLen {
		err = errors.New("the launch parameters are too long")
	}
	return data, err
}

func (h *handler) Configuration() script.Configuration { return h.conf }

// has reports whether the child has reported that the script exports a callback.
func (h *handler) has(c callback) bool { return h.exports&(1<<c) != 0 }

// tell calls a callback whose result is not needed.
func (h *handler) tell(c callback, fill func(f *frame)) { h.call(0, c, fill) }

func (h *handler) call(id uint32, c callback, fill func(f *frame)) bool {
	if h.over {
		return false
	}
	err := h.child.put(h.number, toCall, func(f *frame) {
		f.u32(id)
		f.u8(uint8(c))
		if fill != nil {
			fill(f)
		}
	})
	if err == errTooLong {
		h.say(script.LevelError, "script", 0, fmt.Sprintf("callback %d is left out: its arguments are too long", c))
	}
	return err == nil
}

// ask calls a callback that decides. If the script does not export it, the decision is Allow.
func (h *handler) ask(c callback, fill func(f *frame)) script.Decision {
	if !h.has(c) {
		return script.Allow
	}
	return h.await(c, fill)
}

// await sends a call even if the script does not export the callback, and waits for the child's answer.
func (h *handler) await(c callback, fill func(f *frame)) script.Decision {
	number, p := h.asked.Ask()
	if !h.call(number, c, fill) {
		h.asked.Answer(number, false)
	}
	return script.Later(p)
}

func asJSON(v any) func(f *frame) {
	return func(f *frame) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // v is always a plain struct, list or map of strings and numbers
		}
		f.rest(data)
	}
}

func (h *handler) OnProcessStarted(args []string) script.Decision {
	return h.ask(onProcessStarted, asJSON(append([]string{}, args...)))
}

// OnStartGameSession always calls the child, because the session object shows the properties of the game
// session.
func (h *handler) OnStartGameSession(g *messages.GameSession) script.Decision {
	type property struct{ Key, Value string }
	properties := make([]property, len(g.Properties))
	for i, p := range g.Properties {
		properties[i] = property(p)
	}
	return h.await(onStartGameSession, asJSON(map[string]any{
		"GameSessionId": g.ID, "Name": g.Name, "FleetId": g.FleetID, "MaximumPlayerSessionCount": g.MaxPlayers, "Port": g.Port,
		"IpAddress": g.IPAddress, "DnsName": g.DNSName, "GameSessionData": g.Data, "MatchmakerData": g.MatchmakerData,
		"Status": g.Status.String(), "GameProperties": properties,
	}))
}

// OnUpdateGameSession always calls the child, because the session object shows the matchmaker data.
func (h *handler) OnUpdateGameSession(g *messages.GameSession, u script.Update) {
	h.tell(onUpdateGameSession, asJSON([]string{g.MatchmakerData, string(u.Reason), string(u.TicketID)}))
}

func (h *handler) OnHealthCheck() script.Decision      { return h.ask(onHealthCheck, nil) }
func (h *handler) OnProcessTerminate() script.Decision { return h.ask(onProcessTerminate, nil) }

func (h *handler) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	return h.ask(onPlayerConnect, func(f *frame) {
		f.player(m.Player)
		f.rest(m.Payload)
	})
}

func (h *handler) OnPlayerAccepted(p script.Player) {
	h.tell(onPlayerAccepted, func(f *frame) { f.player(p) })
}

func (h *handler) OnPlayerDetached(peer messages.PeerID, reason string) script.Decision {
	return h.ask(onPlayerDetached, func(f *frame) {
		f.i32(int32(peer))
		f.rest([]byte(reason))
	})
}

func (h *handler) OnPlayerReconnected(peer messages.PeerID, r script.Reconnected) {
	h.tell(onPlayerReconnected, func(f *frame) {
		f.i32(int32(peer))
		asJSON(struct { // in the order in which scripts see the properties
			Resent   int    `json:"resent"`
			Lost     uint64 `json:"lost"`
			AwayMs   int64  `json:"awayMs"`
			Takeover bool   `json:"takeover"`
		}{r.Resent, r.Lost, r.Away.Milliseconds(), r.Takeover})(f)
	})
}

// OnPlayerDisconnect always calls the child, because its list of players changes. The child answers after the
// callback has run.
func (h *handler) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	return h.await(onPlayerDisconnect, func(f *frame) { f.i32(int32(peer)) })
}

func (h *handler) OnMessage(m *script.Message) {
	h.tell(onMessage, func(f *frame) { f.message(m) })
}

func (h *handler) OnSendToPlayer(m *script.Message) script.Decision {
	return h.ask(onSendToPlayer, func(f *frame) { f.message(m) })
}

func (h *handler) OnSendToGroup(m *script.Message) script.Decision {
	return h.ask(onSendToGroup, func(f *frame) { f.message(m) })
}

func (h *handler) OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.ask(onPlayerJoinGroup, func(f *frame) { f.i32(int32(group)); f.i32(int32(peer)) })
}

func (h *handler) OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.ask(onPlayerLeaveGroup, func(f *frame) { f.i32(int32(group)); f.i32(int32(peer)) })
}

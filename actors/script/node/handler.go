package node

import (
	"encoding/json"
	"fmt"

	"troupe/actors/script"
	"troupe/messages"
)

// handler is the game logic of one game session; its script runs in a child. Its fields belong to the game
// session's actor.
type handler struct {
	*child
	session script.Session
	loading *script.Pending
	conf    script.Configuration
	exports uint32 // set of the callbacks that the script exports
	over    bool   // the process has ended, or is about to
	fate    func() // called after the end of the process; set if the process has announced its end
	asked   script.Questions
	slow    script.SlowCalls
}

var (
	_ script.Loader = (*handler)(nil)
	_ script.Closer = (*handler)(nil)
)

func newHandler(p *Program, process script.Process) *handler {
	h := &handler{child: newChild(p, process)}
	h.child.handle, h.child.ended = h.onFrames, h.onEnded
	return h
}

// Load implements script.Loader. It starts the process.
func (h *handler) Load(s script.Session) *script.Pending {
	h.session, h.do, h.loading = s, s.Do, new(script.Pending)
	h.p.live.Go(h.run)
	return h.loading
}

// Init is never called, because handler implements script.Loader.
func (h *handler) Init(script.Session) error { return nil }

// Close implements script.Closer. It kills the process.
func (h *handler) Close() {
	h.over, h.fate = true, func() {}
	h.close()
	h.p.live.Done()
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
	err := h.put(toCall, func(f *frame) {
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

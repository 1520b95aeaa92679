package js

import (
	"fmt"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// Handler is the logic of one game session: a runtime with the script in it. All
// fields belong to the game session's actor.
type Handler struct {
	program *Program
	process script.Process
	session script.Session // nil before Init

	vm            *goja.Runtime // nil before Init
	newUint8Array goja.Constructor
	modules       map[string]*goja.Object // by file
	glue          glue
	timers        timers
	configuration script.Configuration
	pending       map[int64]*script.Pending // decisions that promises will bring, by token
	token         int64
	dead          bool // nothing of the script runs any more
}

var (
	_ script.Handler = (*Handler)(nil)
	_ script.Closer  = (*Handler)(nil)
)

// glue is the functions of realtime.js.
type glue struct {
	report, configuration, init                               goja.Callable
	onProcessStarted, onHealthCheck, onPlayerConnect          goja.Callable
	onStartGameSession, onProcessTerminate, onPlayerAccepted  goja.Callable
	onPlayerDetached, onPlayerReconnected, onPlayerDisconnect goja.Callable
	onMessage, onSendToPlayer, onSendToGroup                  goja.Callable
	onPlayerJoinGroup, onPlayerLeaveGroup                     goja.Callable
	loadFunc                                                  goja.Callable
}

func (g *glue) bind(o *goja.Object) {
	for name, f := range map[string]*goja.Callable{"report": &g.report, "configuration": &g.configuration, "init": &g.init,
		"onProcessStarted": &g.onProcessStarted, "onHealthCheck": &g.onHealthCheck, "onPlayerConnect": &g.onPlayerConnect,
		"onStartGameSession": &g.onStartGameSession, "onProcessTerminate": &g.onProcessTerminate, "onPlayerAccepted": &g.onPlayerAccepted,
		"onPlayerDetached": &g.onPlayerDetached, "onPlayerReconnected": &g.onPlayerReconnected, "onPlayerDisconnect": &g.onPlayerDisconnect,
		"onMessage": &g.onMessage, "onSendToPlayer": &g.onSendToPlayer, "onSendToGroup": &g.onSendToGroup,
		"onPlayerJoinGroup": &g.onPlayerJoinGroup, "onPlayerLeaveGroup": &g.onPlayerLeaveGroup, "load": &g.loadFunc} {
		*f, _ = goja.AssertFunction(o.Get(name))
	}
}

func (g *glue) load(_ *goja.Object, exports goja.Value) (goja.Value, error) {
	return g.loadFunc(goja.Undefined(), exports)
}

// Init implements script.Handler: it loads the script and calls its init.
func (h *Handler) Init(s script.Session) error {
	h.session, h.modules, h.pending = s, map[string]*goja.Object{}, map[int64]*script.Pending{}
	if err := h.start(); err != nil {
		return err
	}
	c, err := h.glue.configuration(goja.Undefined())
	if err != nil {
		return err
	}
	h.configuration = configurationOf(c.(*goja.Object))
	v, err := h.glue.init(goja.Undefined())
	if err != nil {
		return err
	}
	if text := v.String(); text != "" {
		return fmt.Errorf("%s", text)
	}
	return nil
}

func configurationOf(o *goja.Object) (c script.Configuration) {
	if v := o.Get("pingIntervalTime"); v != nil {
		c.PingInterval = time.Duration(v.ToFloat() * float64(time.Millisecond))
	}
	if v := o.Get("maxPlayers"); v != nil {
		c.MaxPlayers = int(v.ToInteger())
	}
	if v := o.Get("reconnectWindow"); v != nil {
		w := time.Duration(v.ToFloat() * float64(time.Second))
		c.ReconnectWindow = &w
	}
	return c
}

// callback calls a function of the script from outside of it.
func (h *Handler) callback(what string, f goja.Callable, args []goja.Value) {
	if h.dead {
		return
	}
	if _, err := f(goja.Undefined(), args...); err != nil {
		h.process.Log.At(script.LevelError, "script", 0, what+": "+err.Error())
		h.session.Crash(what + ": " + err.Error())
		h.dead = true
	}
}

// ask calls a function of the glue; nil if it did not return.
func (h *Handler) ask(f goja.Callable, args ...goja.Value) goja.Value {
	if h.dead {
		return nil
	}
	v, err := f(goja.Undefined(), args...)
	if err != nil {
		h.process.Log.At(script.LevelError, "script", 0, err.Error())
		return nil
	}
	return v
}

func (h *Handler) gate(f goja.Callable, args ...goja.Value) script.Decision {
	v := h.ask(f, args...)
	return script.AllowIf(v != nil && v.ToBoolean())
}

// later is a gate whose promise is waited for.
func (h *Handler) later(f goja.Callable, args ...goja.Value) script.Decision {
	h.token++
	p := &script.Pending{}
	h.pending[h.token] = p
	v := h.ask(f, append([]goja.Value{h.vm.ToValue(h.token)}, args...)...)
	if v != nil && goja.IsUndefined(v) {
		return script.Later(p)
	}
	delete(h.pending, h.token)
	return script.AllowIf(v != nil && v.ToBoolean())
}

func (h *Handler) decide(token int64, ok bool) {
	if p := h.pending[token]; p != nil {
		delete(h.pending, token)
		p.Decide(ok)
	}
}

// Configuration implements script.Handler.
func (h *Handler) Configuration() script.Configuration { return h.configuration }

// OnProcessStarted implements script.Handler.
func (h *Handler) OnProcessStarted(args []string) script.Decision {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	return h.later(h.glue.onProcessStarted, h.vm.NewArray(list...))
}

// OnStartGameSession implements script.Handler.
func (h *Handler) OnStartGameSession(g *messages.GameSession) script.Decision {
	properties := make([]any, len(g.Properties))
	for i, p := range g.Properties {
		properties[i] = map[string]any{"Key": p.Key, "Value": p.Value}
	}
	o := h.vm.NewObject()
	for _, f := range []struct {
		name  string
		value any
	}{
		{"GameSessionId", string(g.ID)}, {"Name", g.Name}, {"FleetId", string(g.FleetID)}, {"MaximumPlayerSessionCount", g.MaxPlayers},
		{"Port", g.Port}, {"IpAddress", g.IPAddress}, {"DnsName", g.DNSName}, {"GameSessionData", g.Data},
		{"MatchmakerData", g.MatchmakerData}, {"Status", g.Status.String()}, {"GameProperties", h.vm.NewArray(properties...)},
	} {
		_ = o.Set(f.name, f.value)
	}
	return h.gate(h.glue.onStartGameSession, o)
}

// OnHealthCheck implements script.Handler.
func (h *Handler) OnHealthCheck() script.Decision { return h.later(h.glue.onHealthCheck) }

// OnProcessTerminate implements script.Handler.
func (h *Handler) OnProcessTerminate() script.Decision { return h.gate(h.glue.onProcessTerminate) }

// OnPlayerConnect implements script.Handler.
func (h *Handler) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	p := &m.Player
	return h.later(h.glue.onPlayerConnect, h.number(int64(p.PeerID)), h.text(string(p.PlayerSessionID)), h.text(string(p.PlayerID)), h.text(p.PlayerData), h.bytes(m.Payload))
}

// OnPlayerAccepted implements script.Handler.
func (h *Handler) OnPlayerAccepted(p script.Player) {
	h.ask(h.glue.onPlayerAccepted, h.number(int64(p.PeerID)), h.text(string(p.PlayerSessionID)), h.text(string(p.PlayerID)), h.text(p.PlayerData))
}

// OnPlayerDetached implements script.Handler.
func (h *Handler) OnPlayerDetached(peer messages.PeerID, reason string) script.Decision {
	return h.gate(h.glue.onPlayerDetached, h.number(int64(peer)), h.text(reason))
}

// OnPlayerReconnected implements script.Handler.
func (h *Handler) OnPlayerReconnected(peer messages.PeerID, info script.Reconnected) {
	o := h.vm.NewObject()
	_ = o.Set("resent", info.Resent)
	_ = o.Set("lost", info.Lost)
	_ = o.Set("awayMs", info.Away.Milliseconds())
	_ = o.Set("takeover", info.Takeover)
	h.ask(h.glue.onPlayerReconnected, h.number(int64(peer)), o)
}

// OnPlayerDisconnect implements script.Handler.
func (h *Handler) OnPlayerDisconnect(peer messages.PeerID) {
	h.ask(h.glue.onPlayerDisconnect, h.number(int64(peer)))
}

// OnMessage implements script.Handler.
func (h *Handler) OnMessage(m *script.Message) { h.message(h.glue.onMessage, m) }

// OnSendToPlayer implements script.Handler.
func (h *Handler) OnSendToPlayer(m *script.Message) script.Decision {
	v := h.message(h.glue.onSendToPlayer, m)
	return script.AllowIf(v != nil && v.ToBoolean())
}

// OnSendToGroup implements script.Handler.
func (h *Handler) OnSendToGroup(m *script.Message) script.Decision {
	v := h.message(h.glue.onSendToGroup, m)
	return script.AllowIf(v != nil && v.ToBoolean())
}

func (h *Handler) message(f goja.Callable, m *script.Message) goja.Value {
	return h.ask(f, h.number(int64(m.OpCode)), h.number(int64(m.Sender)), h.number(int64(m.TargetPlayer)), h.number(int64(m.TargetGroup)),
		h.vm.ToValue(m.Reliable), h.bytes(append([]byte(nil), m.Payload...)))
}

// OnPlayerJoinGroup implements script.Handler.
func (h *Handler) OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(h.glue.onPlayerJoinGroup, h.number(int64(group)), h.number(int64(peer)))
}

// OnPlayerLeaveGroup implements script.Handler.
func (h *Handler) OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(h.glue.onPlayerLeaveGroup, h.number(int64(group)), h.number(int64(peer)))
}

// Close implements script.Closer.
func (h *Handler) Close() { h.dead = true }

func (h *Handler) number(n int64) goja.Value { return h.vm.ToValue(n) }
func (h *Handler) text(s string) goja.Value  { return h.vm.ToValue(s) }

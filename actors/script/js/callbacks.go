package js

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

type callback struct {
	name string
	call native
}

// of calls c directly, inside a call that is already running.
func (c *callback) of(args ...goja.Value) goja.Value {
	return c.call(goja.FunctionCall{This: goja.Undefined(), Arguments: args})
}

// glue has the functions of realtime.js.
type glue struct {
	run, load, report, configuration, init                    callback
	onProcessStarted, onHealthCheck, onPlayerConnect          callback
	onStartGameSession, onProcessTerminate, onPlayerAccepted  callback
	onPlayerDetached, onPlayerReconnected, onPlayerDisconnect callback
	gone, onUpdateGameSession                                 callback
	onMessage, onSendToPlayer, onSendToGroup                  callback
	onPlayerJoinGroup, onPlayerLeaveGroup                     callback
}

func (g *glue) bind(o *goja.Object) {
	for name, c := range map[string]*callback{
		"run": &g.run, "load": &g.load, "report": &g.report, "configuration": &g.configuration, "init": &g.init,
		"onProcessStarted": &g.onProcessStarted, "onHealthCheck": &g.onHealthCheck,
		"onStartGameSession": &g.onStartGameSession, "onProcessTerminate": &g.onProcessTerminate,
	} {
		*c = callback{name, function(o, name)}
	}
	// The other functions are created together, when one of them is called for the first time.
	for name, c := range g.playing() {
		*c = callback{name, func(args goja.FunctionCall) goja.Value {
			made := function(o, "playing")(goja.FunctionCall{This: goja.Undefined()}).(*goja.Object)
			for name, c := range g.playing() {
				*c = callback{name, function(made, name)}
			}
			return c.call(args)
		}}
	}
}

// playing returns the callbacks for players and messages.
func (g *glue) playing() map[string]*callback {
	return map[string]*callback{
		"onPlayerConnect": &g.onPlayerConnect, "onPlayerAccepted": &g.onPlayerAccepted, "onPlayerDetached": &g.onPlayerDetached,
		"onPlayerReconnected": &g.onPlayerReconnected, "onPlayerDisconnect": &g.onPlayerDisconnect, "gone": &g.gone,
		"onMessage": &g.onMessage, "onSendToPlayer": &g.onSendToPlayer, "onSendToGroup": &g.onSendToGroup,
		"onUpdateGameSession": &g.onUpdateGameSession,
		"onPlayerJoinGroup":   &g.onPlayerJoinGroup, "onPlayerLeaveGroup": &g.onPlayerLeaveGroup,
	}
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

func (h *Handler) Configuration() script.Configuration { return h.configuration }

func (h *Handler) OnProcessStarted(args []string) script.Decision {
	return h.later(&h.glue.onProcessStarted, func(a *arguments) {
		list := make([]any, len(args))
		for i, s := range args {
			list[i] = s
		}
		a.add(h.vm.NewArray(list...))
	})
}

func (h *Handler) OnStartGameSession(g *messages.GameSession) script.Decision {
	return h.gate(&h.glue.onStartGameSession, func(a *arguments) {
		properties := make([]any, len(g.Properties))
		for i, p := range g.Properties {
			properties[i] = a.object(property{"Key", p.Key}, property{"Value", p.Value})
		}
		a.add(a.object(property{"GameSessionId", string(g.ID)}, property{"Name", g.Name}, property{"FleetId", string(g.FleetID)},
			property{"MaximumPlayerSessionCount", g.MaxPlayers}, property{"Port", g.Port}, property{"IpAddress", g.IPAddress}, property{"DnsName", g.DNSName},
			property{"GameSessionData", g.Data}, property{"MatchmakerData", g.MatchmakerData}, property{"Status", g.Status.String()},
			property{"GameProperties", h.vm.NewArray(properties...)}))
	})
}

func (h *Handler) OnUpdateGameSession(g *messages.GameSession, u script.Update) {
	h.ask(&h.glue.onUpdateGameSession, func(a *arguments) {
		for _, text := range []string{g.MatchmakerData, string(u.Reason), string(u.TicketID)} {
			a.add(h.vm.ToValue(text))
		}
	})
}

func (h *Handler) OnHealthCheck() script.Decision { return h.later(&h.glue.onHealthCheck, nil) }

func (h *Handler) OnProcessTerminate() script.Decision {
	return h.later(&h.glue.onProcessTerminate, nil)
}

func (h *Handler) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	return h.later(&h.glue.onPlayerConnect, func(a *arguments) {
		a.player(m.Player)
		a.bytes(m.Payload)
	})
}

func (h *Handler) OnPlayerAccepted(p script.Player) {
	h.ask(&h.glue.onPlayerAccepted, func(a *arguments) { a.player(p) })
}

func (h *Handler) OnPlayerDetached(peer messages.PeerID, reason string) script.Decision {
	v := h.ask(&h.glue.onPlayerDetached, func(a *arguments) {
		a.i32(int32(peer))
		a.add(h.vm.ToValue(reason))
	})
	return script.AllowIf(v == nil || v.ToBoolean())
}

func (h *Handler) OnPlayerReconnected(peer messages.PeerID, info script.Reconnected) {
	h.ask(&h.glue.onPlayerReconnected, func(a *arguments) {
		a.i32(int32(peer))
		a.add(a.object(property{"resent", info.Resent}, property{"lost", info.Lost}, property{"awayMs", info.Away.Milliseconds()}, property{"takeover", info.Takeover}))
	})
}

func (h *Handler) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	fill := func(a *arguments) { a.i32(int32(peer)) }
	if h.ask(&h.glue.onPlayerDisconnect, fill) == nil {
		h.ask(&h.glue.gone, fill)
	}
	return script.Allow
}

func (h *Handler) OnMessage(m *script.Message) {
	h.ask(&h.glue.onMessage, func(a *arguments) { a.message(m) })
}

func (h *Handler) OnSendToPlayer(m *script.Message) script.Decision {
	return h.gate(&h.glue.onSendToPlayer, func(a *arguments) { a.message(m) })
}

func (h *Handler) OnSendToGroup(m *script.Message) script.Decision {
	return h.gate(&h.glue.onSendToGroup, func(a *arguments) { a.message(m) })
}

func (h *Handler) OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(&h.glue.onPlayerJoinGroup, func(a *arguments) { a.i32(int32(group)); a.i32(int32(peer)) })
}

func (h *Handler) OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(&h.glue.onPlayerLeaveGroup, func(a *arguments) { a.i32(int32(group)); a.i32(int32(peer)) })
}

// arguments builds the arguments of a call into the script. They are built inside the call, where the
// watchdog can interrupt it, because building them may run script code, such as a global function that the
// script has replaced.
type arguments struct {
	h    *Handler
	list []goja.Value // reused for every call, because the engine copies it
}

func (a *arguments) add(v goja.Value) { a.list = append(a.list, v) }
func (a *arguments) i32(n int32)      { a.add(a.h.vm.ToValue(n)) }

// bytes adds a Uint8Array with a copy of b.
func (a *arguments) bytes(b []byte) { a.add(a.h.bytes(append([]byte(nil), b...))) }

func (a *arguments) player(p script.Player) {
	a.i32(int32(p.PeerID))
	a.add(a.h.vm.ToValue(string(p.PlayerSessionID)))
	a.add(a.h.vm.ToValue(string(p.PlayerID)))
	a.add(a.h.vm.ToValue(p.PlayerData))
}

func (a *arguments) message(m *script.Message) {
	a.i32(m.OpCode)
	a.i32(int32(m.Sender))
	a.i32(int32(m.TargetPlayer))
	a.i32(int32(m.TargetGroup))
	a.add(a.h.vm.ToValue(m.Reliable))
	a.bytes(m.Payload)
}

type property struct {
	name  string
	value any
}

// object creates a plain object. It defines the properties instead of setting them, so it runs no setter of
// the script.
func (a *arguments) object(properties ...property) *goja.Object {
	o := a.h.vm.NewObject()
	for _, p := range properties {
		_ = o.DefineDataProperty(p.name, a.h.vm.ToValue(p.value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o
}

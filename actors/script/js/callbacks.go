package js

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// callback is a function of the glue.
type callback struct {
	name string
	call goja.Callable
}

// glue is the functions of realtime.js.
type glue struct {
	load, report, configuration, init                         callback
	onProcessStarted, onHealthCheck, onPlayerConnect          callback
	onStartGameSession, onProcessTerminate, onPlayerAccepted  callback
	onPlayerDetached, onPlayerReconnected, onPlayerDisconnect callback
	onMessage, onSendToPlayer, onSendToGroup                  callback
	onPlayerJoinGroup, onPlayerLeaveGroup, messageType        callback
}

func (g *glue) bind(h *Handler, o *goja.Object) {
	for name, c := range map[string]*callback{
		"load": &g.load, "report": &g.report, "configuration": &g.configuration, "init": &g.init,
		"onProcessStarted": &g.onProcessStarted, "onHealthCheck": &g.onHealthCheck, "onPlayerConnect": &g.onPlayerConnect,
		"onStartGameSession": &g.onStartGameSession, "onProcessTerminate": &g.onProcessTerminate, "onPlayerAccepted": &g.onPlayerAccepted,
		"onPlayerDetached": &g.onPlayerDetached, "onPlayerReconnected": &g.onPlayerReconnected, "onPlayerDisconnect": &g.onPlayerDisconnect,
		"onMessage": &g.onMessage, "onSendToPlayer": &g.onSendToPlayer, "onSendToGroup": &g.onSendToGroup,
		"messageType": &g.messageType, "onPlayerJoinGroup": &g.onPlayerJoinGroup, "onPlayerLeaveGroup": &g.onPlayerLeaveGroup,
	} {
		*c = callback{name, h.entry(o, name)}
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

// Configuration implements script.Handler.
func (h *Handler) Configuration() script.Configuration { return h.configuration }

// OnProcessStarted implements script.Handler.
func (h *Handler) OnProcessStarted(args []string) script.Decision {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	return h.later(&h.glue.onProcessStarted, h.vm.NewArray(list...))
}

// OnStartGameSession implements script.Handler.
func (h *Handler) OnStartGameSession(g *messages.GameSession) script.Decision {
	properties := make([]any, len(g.Properties))
	for i, p := range g.Properties {
		o := h.vm.NewObject()
		_ = o.Set("Key", p.Key)
		_ = o.Set("Value", p.Value)
		properties[i] = o
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
	return h.gate(&h.glue.onStartGameSession, o)
}

// OnHealthCheck implements script.Handler.
func (h *Handler) OnHealthCheck() script.Decision { return h.later(&h.glue.onHealthCheck) }

// OnProcessTerminate implements script.Handler.
func (h *Handler) OnProcessTerminate() script.Decision { return h.gate(&h.glue.onProcessTerminate) }

// OnPlayerConnect implements script.Handler.
func (h *Handler) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	p := &m.Player
	return h.later(&h.glue.onPlayerConnect, h.vm.ToValue(int32(p.PeerID)), h.vm.ToValue(string(p.PlayerSessionID)), h.vm.ToValue(string(p.PlayerID)), h.vm.ToValue(p.PlayerData), h.bytes(m.Payload))
}

// OnPlayerAccepted implements script.Handler.
func (h *Handler) OnPlayerAccepted(p script.Player) {
	h.ask(&h.glue.onPlayerAccepted, h.vm.ToValue(int32(p.PeerID)), h.vm.ToValue(string(p.PlayerSessionID)), h.vm.ToValue(string(p.PlayerID)), h.vm.ToValue(p.PlayerData))
}

// OnPlayerDetached implements script.Handler.
func (h *Handler) OnPlayerDetached(peer messages.PeerID, reason string) script.Decision {
	v := h.ask(&h.glue.onPlayerDetached, h.vm.ToValue(int32(peer)), h.vm.ToValue(reason))
	return script.AllowIf(v == nil || v.ToBoolean())
}

// OnPlayerReconnected implements script.Handler.
func (h *Handler) OnPlayerReconnected(peer messages.PeerID, info script.Reconnected) {
	o := h.vm.NewObject()
	_ = o.Set("resent", info.Resent)
	_ = o.Set("lost", info.Lost)
	_ = o.Set("awayMs", info.Away.Milliseconds())
	_ = o.Set("takeover", info.Takeover)
	h.ask(&h.glue.onPlayerReconnected, h.vm.ToValue(int32(peer)), o)
}

// OnPlayerDisconnect implements script.Handler.
func (h *Handler) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	h.ask(&h.glue.onPlayerDisconnect, h.vm.ToValue(int32(peer)))
	return script.Allow
}

// OnMessage implements script.Handler.
func (h *Handler) OnMessage(m *script.Message) { h.message(&h.glue.onMessage, m) }

// OnSendToPlayer implements script.Handler.
func (h *Handler) OnSendToPlayer(m *script.Message) script.Decision {
	v := h.message(&h.glue.onSendToPlayer, m)
	return script.AllowIf(v != nil && v.ToBoolean())
}

// OnSendToGroup implements script.Handler.
func (h *Handler) OnSendToGroup(m *script.Message) script.Decision {
	v := h.message(&h.glue.onSendToGroup, m)
	return script.AllowIf(v != nil && v.ToBoolean())
}

func (h *Handler) message(c *callback, m *script.Message) goja.Value {
	if h.messageType == nil {
		t, err := h.glue.messageType.call(goja.Undefined())
		if err != nil {
			return nil
		}
		h.messageType = t
	}
	return h.ask(c, h.inbound(m))
}

// OnPlayerJoinGroup implements script.Handler.
func (h *Handler) OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(&h.glue.onPlayerJoinGroup, h.vm.ToValue(int32(group)), h.vm.ToValue(int32(peer)))
}

// OnPlayerLeaveGroup implements script.Handler.
func (h *Handler) OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) script.Decision {
	return h.gate(&h.glue.onPlayerLeaveGroup, h.vm.ToValue(int32(group)), h.vm.ToValue(int32(peer)))
}

package js

import (
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// hostObject is the host of realtime.js.
func (h *Handler) hostObject() *goja.Object {
	o := h.vm.NewObject()
	level := script.LevelDebug
	for level <= script.LevelCXFatal && !h.process.Log.Enabled(level) {
		level++
	}
	_ = o.Set("logLevel", int(level))
	h.natives(o, map[string]native{
		"log":           h.log,
		"format":        h.format,
		"utf8":          func(c goja.FunctionCall) goja.Value { return h.bytes([]byte(c.Argument(0).String())) },
		"text":          func(c goja.FunctionCall) goja.Value { return h.vm.ToValue(text(exported(c.Argument(0)))) },
		"send":          h.send,
		"kick":          h.kick,
		"processEnding": func(goja.FunctionCall) goja.Value { h.session.ProcessEnding(); return goja.Undefined() },
		"broadcastGroupMembershipUpdate": func(c goja.FunctionCall) goja.Value {
			h.session.BroadcastGroupMembershipUpdate(messages.GroupID(c.Argument(0).ToInteger()), messages.GroupID(c.Argument(1).ToInteger()))
			return goja.Undefined()
		},
		"decided": func(c goja.FunctionCall) goja.Value {
			h.decided = append(h.decided, decision{c.Argument(0).ToInteger(), c.Argument(1).ToBoolean()})
			return goja.Undefined()
		},
		"failed": func(goja.FunctionCall) goja.Value {
			h.process.Counters.HandlerErrors.Add(1)
			return goja.Undefined()
		},
	})
	_ = o.Set("afterCallback", h.vm.ToValue(h.prelude.afterCallback))
	return o
}

// log is host.log(level, text, file, row).
func (h *Handler) log(c goja.FunctionCall) goja.Value {
	file, row := "", 0
	if f := c.Argument(2); !goja.IsUndefined(f) {
		file, row = f.String(), int(c.Argument(3).ToInteger())
	} else {
		file, row = firstFrame(h.vm.CaptureCallStack(0, nil))
	}
	h.process.Log.At(script.Level(c.Argument(0).ToInteger()), file, row, c.Argument(1).String())
	return goja.Undefined()
}

func (h *Handler) format(c goja.FunctionCall) goja.Value {
	var parts []string
	h.vm.ForOf(c.Argument(0), func(v goja.Value) bool {
		parts = append(parts, v.String())
		return true
	})
	return h.vm.ToValue(strings.Join(parts, " "))
}

func (h *Handler) kick(c goja.FunctionCall) goja.Value {
	h.session.KickPlayer(messages.PeerID(c.Argument(0).ToInteger()), c.Argument(1).String())
	return goja.Undefined()
}

// send is host.send(how, opCode, sender, payload, target).
func (h *Handler) send(c goja.FunctionCall) goja.Value {
	m := script.Outgoing{OpCode: int32(c.Argument(1).ToInteger()), Sender: messages.PeerID(c.Argument(2).ToInteger()), Payload: exported(c.Argument(3))}
	target := c.Argument(4).ToInteger()
	switch c.Argument(0).ToInteger() {
	case 0:
		h.session.SendMessage(m, messages.PeerID(target))
	case 1:
		h.session.SendReliableMessage(m, messages.PeerID(target))
	case 2:
		h.session.SendGroupMessage(m, messages.GroupID(target))
	case 3:
		h.session.SendReliableGroupMessage(m, messages.GroupID(target))
	}
	return goja.Undefined()
}

// exported returns the bytes of a Uint8Array, which stay the script's.
func exported(v goja.Value) []byte {
	b, _ := v.Export().([]byte)
	return b
}

// bytes makes a plain Uint8Array of b, which it takes over.
func (h *Handler) bytes(b []byte) goja.Value {
	v, err := h.newUint8Array(nil, h.vm.ToValue(h.vm.NewArrayBuffer(b)))
	if err != nil {
		return goja.Undefined()
	}
	return v
}

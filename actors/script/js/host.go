package js

import (
	"path"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// hostObject is the host of realtime.js.
func (h *Handler) hostObject() *goja.Object {
	o := h.vm.NewObject()
	set := func(name string, f func(goja.FunctionCall) goja.Value) { _ = o.Set(name, f) }
	level := script.LevelCXFatal + 1
	for l := script.LevelDebug; l <= script.LevelCXFatal; l++ {
		if h.process.Log.Enabled(l) {
			level = l
			break
		}
	}
	_ = o.Set("logLevel", int(level))
	set("log", func(c goja.FunctionCall) goja.Value {
		file, row := "", 0
		if f := c.Argument(2); !goja.IsUndefined(f) {
			file, row = f.String(), int(c.Argument(3).ToInteger())
		} else {
			file, row = h.position()
		}
		h.process.Log.At(script.Level(c.Argument(0).ToInteger()), file, row, c.Argument(1).String())
		return goja.Undefined()
	})
	set("format", func(c goja.FunctionCall) goja.Value {
		var parts []string
		h.vm.ForOf(c.Argument(0), func(v goja.Value) bool {
			parts = append(parts, v.String())
			return true
		})
		return h.vm.ToValue(strings.Join(parts, " "))
	})
	set("utf8", func(c goja.FunctionCall) goja.Value { return h.bytes([]byte(c.Argument(0).String())) })
	set("text", func(c goja.FunctionCall) goja.Value {
		b, _ := c.Argument(0).Export().([]byte)
		return h.vm.ToValue(strings.ToValidUTF8(string(b), "\ufffd"))
	})
	set("send", h.send)
	set("broadcastGroupMembershipUpdate", func(c goja.FunctionCall) goja.Value {
		h.session.BroadcastGroupMembershipUpdate(messages.GroupID(c.Argument(0).ToInteger()), messages.GroupID(c.Argument(1).ToInteger()))
		return goja.Undefined()
	})
	set("kick", func(c goja.FunctionCall) goja.Value {
		h.session.KickPlayer(messages.PeerID(c.Argument(0).ToInteger()), c.Argument(1).String())
		return goja.Undefined()
	})
	set("processEnding", func(goja.FunctionCall) goja.Value {
		h.session.ProcessEnding()
		return goja.Undefined()
	})
	set("decided", func(c goja.FunctionCall) goja.Value {
		h.decide(c.Argument(0).ToInteger(), c.Argument(1).ToBoolean())
		return goja.Undefined()
	})
	return o
}

// send is host.send(how, opCode, sender, payload, target).
func (h *Handler) send(c goja.FunctionCall) goja.Value {
	payload, _ := c.Argument(3).Export().([]byte)
	m := script.Outgoing{OpCode: int32(c.Argument(1).ToInteger()), Sender: messages.PeerID(c.Argument(2).ToInteger()), Payload: payload}
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

// bytes makes a plain Uint8Array of b, which it takes over.
func (h *Handler) bytes(b []byte) goja.Value {
	v, err := h.newUint8Array(nil, h.vm.ToValue(h.vm.NewArrayBuffer(b)))
	if err != nil {
		return goja.Undefined()
	}
	return v
}

// position is where the script is now.
func (h *Handler) position() (file string, row int) {
	for _, f := range h.vm.CaptureCallStack(0, nil) {
		if name := f.SrcName(); name != "" && name != "<native>" && !strings.HasPrefix(name, "troupe:") {
			return path.Base(name), f.Position().Line
		}
	}
	return "script", 0
}

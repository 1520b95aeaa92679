package js

import (
	"strconv"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/modules"
	"troupe/actors/script/realtime"
	"troupe/messages"
)

type hostFunction func(*Handler, goja.FunctionCall) goja.Value

// hostFunctions are the functions of the host object: those documented in realtime.js, and others for
// timers.js.
var hostFunctions = map[string]hostFunction{
	"log": does((*Handler).log), "format": (*Handler).format, "utf8": (*Handler).utf8, "text": (*Handler).text, "send": does((*Handler).send),
	"kick": does(func(h *Handler, c goja.FunctionCall) {
		h.session.KickPlayer(messages.PeerID(c.Argument(0).ToInteger()), c.Argument(1).String())
	}),
	"processEnding": does(func(h *Handler, _ goja.FunctionCall) { h.session.ProcessEnding() }),
	"broadcastGroupMembershipUpdate": does(func(h *Handler, c goja.FunctionCall) {
		h.session.BroadcastGroupMembershipUpdate(messages.GroupID(c.Argument(0).ToInteger()), messages.GroupID(c.Argument(1).ToInteger()))
	}),
	"decided": does(func(h *Handler, c goja.FunctionCall) {
		h.decided = append(h.decided, decision{uint32(c.Argument(0).ToInteger()), c.Argument(1).ToBoolean()})
	}),
	"failed":   does(func(h *Handler, _ goja.FunctionCall) { h.process.Counters.HandlerErrors.Add(1) }),
	"backfill": does((*Handler).backfill),

	"arm": (*Handler).arm, "armed": (*Handler).armed, "disarm": does((*Handler).disarm), "soon": does((*Handler).soon),
	"notSoon":       does(func(h *Handler, _ goja.FunctionCall) { h.timers.waiting-- }), // an immediate has run or was cleared
	"later":         func(h *Handler, c goja.FunctionCall) goja.Value { return modules.Later(h.vm, c) },
	"uncaught":      does(func(h *Handler, c goja.FunctionCall) { h.uncaught(c.Argument(0), "uncaughtException") }),
	"afterCallback": does((*Handler).afterCallback),
	"hint": func(h *Handler, c goja.FunctionCall) goja.Value {
		return h.vm.ToValue(modules.Hint(c.Argument(0).String()))
	},
}

// does converts a function that returns nothing to a hostFunction.
func does(f func(*Handler, goja.FunctionCall)) hostFunction {
	return func(h *Handler, c goja.FunctionCall) goja.Value {
		f(h, c)
		return goja.Undefined()
	}
}

// host is the host object of one runtime. It creates each function when the function is first used: a
// function takes half a KiB, and most games use few of them.
type host struct {
	modules.Sealed
	h      *Handler
	values map[string]goja.Value
}

func newHost(h *Handler) *goja.Object {
	h.tickFlag = h.vm.NewObject()
	h.waiting(false)
	return h.vm.NewDynamicObject(&host{h: h, values: map[string]goja.Value{"logLevel": h.vm.ToValue(int(h.process.Log.Threshold())), "toPrimitive": goja.SymToPrimitive, "ticks": h.tickFlag}})
}

func (o *host) Get(name string) goja.Value {
	v := o.values[name]
	if v == nil {
		if f := hostFunctions[name]; f != nil {
			v = o.h.vm.ToValue(func(c goja.FunctionCall) goja.Value { return f(o.h, c) })
			o.values[name] = v
		}
	}
	return v
}

func (o *host) Set(name string, v goja.Value) bool { o.values[name] = v; return true }
func (o *host) Has(name string) bool               { return o.Get(name) != nil }

// log implements host.log(level, text, file, row).
func (h *Handler) log(c goja.FunctionCall) {
	file, row := "", 0
	if f := c.Argument(2); !goja.IsUndefined(f) {
		file, row = f.String(), int(c.Argument(3).ToInteger())
	} else {
		file, row = firstFrame(h.vm.CaptureCallStack(0, nil))
	}
	h.process.Log.At(script.Level(c.Argument(0).ToInteger()), file, row, realtime.OwnFrames(c.Argument(1).String()))
}

func (h *Handler) format(c goja.FunctionCall) goja.Value {
	list := c.Argument(0).ToObject(h.vm)
	args := make([]goja.Value, list.Get("length").ToInteger()) // an iterator would take 5 KiB
	for i := range args {
		args[i] = list.Get(strconv.Itoa(i))
	}
	return h.vm.ToValue(h.loader.Format(args...))
}

// console logs what the script prints with console. If the call is interrupted it logs nothing, because the
// text may have any number of lines.
func (h *Handler) console(level script.Level, text string) {
	if h.process.Log.Enabled(level) && !h.interrupted.Load() {
		file, row := firstFrame(h.vm.CaptureCallStack(0, nil))
		h.process.Log.At(level, file, row, realtime.OwnFrames(text))
	}
}

func (h *Handler) utf8(c goja.FunctionCall) goja.Value {
	return h.bytes([]byte(c.Argument(0).String()))
}

func (h *Handler) text(c goja.FunctionCall) goja.Value {
	b, _ := modules.View(c.Argument(0))
	return h.vm.ToValue(modules.Text(b))
}

func (h *Handler) backfill(c goja.FunctionCall) {
	if c.Argument(0).ToBoolean() {
		h.session.StartMatchBackfill()
	} else {
		h.session.StopMatchBackfill()
	}
}

// send implements host.send(how, opCode, sender, payload, target). It does not copy the payload, which the
// script may still change.
func (h *Handler) send(c goja.FunctionCall) {
	payload, ok := modules.View(c.Argument(3))
	if !ok {
		panic(h.vm.NewTypeError("the payload is not a Uint8Array"))
	}
	m := script.Outgoing{OpCode: int32(c.Argument(1).ToInteger()), Sender: messages.PeerID(c.Argument(2).ToInteger()), Payload: payload}
	h.session.Send(m, script.Target{How: script.How(c.Argument(0).ToInteger()), ID: int32(c.Argument(4).ToInteger())})
}

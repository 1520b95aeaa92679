package js

import (
	"reflect"
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// gameMessage is a game message as an object of the engine. A plain object of six
// properties is twelve allocations and 700 bytes; there are two per message that is
// answered.
type gameMessage struct {
	values [len(messageFields)]goja.Value // nil: deleted
	more   map[string]goja.Value          // what the script has added
	order  []string                       // of more
	// out is the message if the script sends it, as long as simple: no property has
	// been set since it was made of integers and a plain Uint8Array.
	out    script.Outgoing
	simple bool
}

var messageFields = [...]string{"opCode", "sender", "targetPlayer", "targetGroup", "reliable", "payload"}

var _ goja.DynamicObject = (*gameMessage)(nil)

// field returns the index of a property that every message has, or -1.
func field(name string) int {
	switch name {
	case "opCode":
		return 0
	case "sender":
		return 1
	case "targetPlayer":
		return 2
	case "targetGroup":
		return 3
	case "reliable":
		return 4
	case "payload":
		return 5
	}
	return -1
}

// newMessage is host.message(prototype, opCode, sender, targetPlayer, targetGroup,
// reliable, payload).
func (h *Handler) newMessage(c goja.FunctionCall) goja.Value {
	m := new(gameMessage)
	for i := range m.values {
		m.values[i] = c.Argument(i + 1)
	}
	return h.messageObject(m, c.Argument(0))
}

func (h *Handler) messageObject(m *gameMessage, prototype goja.Value) goja.Value {
	o := h.vm.NewDynamicObject(m)
	if prototype, ok := prototype.(*goja.Object); ok {
		_ = o.SetPrototype(prototype)
	}
	return o
}

// inbound makes the object of a player's message.
func (h *Handler) inbound(in *script.Message) goja.Value {
	payload := append([]byte(nil), in.Payload...)
	m := &gameMessage{simple: true, out: script.Outgoing{OpCode: in.OpCode, Sender: in.Sender, Payload: payload}}
	m.values = [...]goja.Value{h.vm.ToValue(in.OpCode), h.vm.ToValue(int32(in.Sender)), h.vm.ToValue(int32(in.TargetPlayer)),
		h.vm.ToValue(int32(in.TargetGroup)), h.vm.ToValue(in.Reliable), h.bytes(payload)}
	return h.messageObject(m, h.typeOfMessages())
}

// quick is host.quick(methods): it has us do what needs no conversion. The rest stays
// with the methods that are there.
func (h *Handler) quick(c goja.FunctionCall) goja.Value {
	methods := c.Argument(0).ToObject(h.vm)
	for _, name := range []string{"newTextGameMessage", "newBinaryGameMessage"} {
		h.replace(methods, name, 3, h.made)
	}
	for how, name := range []string{"sendMessage", "sendReliableMessage", "sendGroupMessage", "sendReliableGroupMessage"} {
		h.replace(methods, name, 2, func(c goja.FunctionCall) goja.Value { return h.sent(int64(how), c) })
	}
	return goja.Undefined()
}

// replace puts a function of ours before a method; what it returns nil for is the
// method's affair.
func (h *Handler) replace(methods *goja.Object, name string, length int, f func(goja.FunctionCall) goja.Value) {
	method := function(methods, name)
	both := h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if v := f(c); v != nil {
			return v
		}
		return method(c)
	}).(*goja.Object)
	must(both.DefineDataProperty("name", h.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(both.DefineDataProperty("length", h.vm.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(methods.DefineDataProperty(name, both, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

func must(err error) {
	if err != nil {
		panic(err) // of objects of ours
	}
}

// made is newTextGameMessage(opCode, sender, payload) and its sister; nil if
// something of it has to be converted.
func (h *Handler) made(c goja.FunctionCall) goja.Value {
	op, ok := h.int32(c.Argument(0))
	sender, also := h.int32(c.Argument(1))
	array, isObject := c.Argument(2).(*goja.Object)
	_, plain := h.payloads()
	if !ok || !also || !isObject || array.ExportType() != bytesType || array.Prototype() != plain { // no code of the script so far
		return nil
	}
	payload, _ := array.Export().([]byte)
	m := &gameMessage{simple: true, out: script.Outgoing{OpCode: op, Sender: messages.PeerID(sender), Payload: payload}}
	zero := h.vm.ToValue(0)
	m.values = [...]goja.Value{c.Argument(0), c.Argument(1), zero, zero, h.vm.ToValue(true), array}
	return h.messageObject(m, h.typeOfMessages())
}

// sent is sendMessage(message, target) and its sisters; nil if something has to be
// converted.
func (h *Handler) sent(how int64, c goja.FunctionCall) goja.Value {
	o, ok := c.Argument(0).(*goja.Object)
	target, also := h.int32(c.Argument(1))
	if !ok || !also || o.ExportType() != messageType { // to export what it is not would run its getters
		return nil
	}
	m := o.Export().(*gameMessage)
	if !m.simple {
		return nil
	}
	h.sendTo(how, m.out, int64(target))
	return goja.Undefined()
}

// typeOfMessages is the prototype of messages.
func (h *Handler) typeOfMessages() goja.Value {
	if h.messageType == nil {
		h.messageType = h.glue.messageType.of()
	}
	return h.messageType
}

// int32 returns a number that is one.
func (h *Handler) int32(v goja.Value) (int32, bool) {
	if v.ExportType() != intType {
		return 0, false
	}
	i := v.ToInteger()
	return int32(i), int64(int32(i)) == i
}

// Types as the engine exports them: integers, Uint8Arrays, messages.
var (
	intType     = reflect.TypeFor[int64]()
	bytesType   = reflect.TypeFor[[]byte]()
	messageType = reflect.TypeFor[*gameMessage]()
)

// Get implements goja.DynamicObject.
func (m *gameMessage) Get(name string) goja.Value {
	if i := field(name); i >= 0 {
		return m.values[i]
	}
	return m.more[name]
}

// Set implements goja.DynamicObject.
func (m *gameMessage) Set(name string, v goja.Value) bool {
	if i := field(name); i >= 0 {
		m.values[i], m.simple = v, false
		return true
	}
	if m.more == nil {
		m.more = make(map[string]goja.Value)
	}
	if _, ok := m.more[name]; !ok {
		m.order = append(m.order, name)
	}
	m.more[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (m *gameMessage) Has(name string) bool { return m.Get(name) != nil }

// Delete implements goja.DynamicObject.
func (m *gameMessage) Delete(name string) bool {
	if i := field(name); i >= 0 {
		m.values[i], m.simple = nil, false
	} else if _, ok := m.more[name]; ok {
		delete(m.more, name)
		m.order = slices.DeleteFunc(m.order, func(s string) bool { return s == name })
	}
	return true
}

// Keys implements goja.DynamicObject.
func (m *gameMessage) Keys() []string {
	keys := make([]string, 0, len(m.values)+len(m.order))
	for i, v := range m.values {
		if v != nil {
			keys = append(keys, messageFields[i])
		}
	}
	return append(keys, m.order...)
}

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
// answered. Until the script changes one it is what it was made of, and small.
type gameMessage struct {
	h *Handler
	// out is the message if the script sends it, and payload what its bytes are to the
	// script, a plain Uint8Array.
	out     script.Outgoing
	payload goja.Value
	targetPlayer,
	targetGroup int32
	reliable bool
	changed  *changedMessage // what takes the place of all that; nil until then
}

// changedMessage is a message of which the script has set or deleted a property, or
// which was made of anything.
type changedMessage struct {
	values [len(messageFields)]goja.Value // nil: deleted
	more   map[string]goja.Value          // what the script has added
	order  []string                       // of more
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
	m := new(changedMessage)
	for i := range m.values {
		m.values[i] = c.Argument(i + 1)
	}
	return h.messageObject(&gameMessage{h: h, changed: m}, c.Argument(0))
}

func (h *Handler) messageObject(m *gameMessage, prototype goja.Value) *goja.Object {
	o := h.vm.NewDynamicObject(m)
	// Not by o.SetPrototype, which is prepared for objects that refuse.
	h.pair = [2]goja.Value{o, prototype}
	if h.setPrototype == nil {
		h.setPrototype = objectOf(setPrototypes(h.vm), "value").Export().(func(goja.FunctionCall) goja.Value)
	}
	h.setPrototype(goja.FunctionCall{This: goja.Undefined(), Arguments: h.pair[:]})
	h.pair = [2]goja.Value{}
	return o
}

// inbound makes the object of a player's message.
func (h *Handler) inbound(in *script.Message) goja.Value {
	payload := append([]byte(nil), in.Payload...)
	array := h.bytes(payload)
	h.recent.array, _ = array.(*goja.Object)
	h.recent.bytes = payload
	return h.messageObject(&gameMessage{
		h: h, out: script.Outgoing{OpCode: in.OpCode, Sender: in.Sender, Payload: payload}, payload: array,
		targetPlayer: int32(in.TargetPlayer), targetGroup: int32(in.TargetGroup), reliable: in.Reliable,
	}, h.typeOfMessages())
}

// recent is what a script that answers a message hands back to us: then its insides
// need not be asked for. Of one call.
type recent struct {
	array   *goja.Object // a payload
	bytes   []byte       // of it
	object  *goja.Object // a message
	message *gameMessage // of it
}

// quick is host.quick(methods): it has us do what needs no conversion. The rest stays
// with the methods that are there.
func (h *Handler) quick(c goja.FunctionCall) goja.Value {
	methods := c.Argument(0).ToObject(h.vm)
	for _, name := range []string{"newTextGameMessage", "newBinaryGameMessage"} {
		h.replace(methods, name, 3, h.made)
	}
	h.replace(methods, "getServerId", 0, func(goja.FunctionCall) goja.Value { return h.vm.ToValue(int32(messages.ServerPeer)) })
	for how, name := range []string{"sendMessage", "sendReliableMessage", "sendGroupMessage", "sendReliableGroupMessage"} {
		h.replace(methods, name, 2, func(c goja.FunctionCall) goja.Value { return h.sent(script.How(how), c) })
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
	if !ok || !also || !isObject {
		return nil
	}
	payload, ok := h.payloadOf(array)
	if !ok {
		return nil
	}
	m := &gameMessage{h: h, out: script.Outgoing{OpCode: op, Sender: messages.PeerID(sender), Payload: payload}, payload: array, reliable: true}
	o := h.messageObject(m, h.typeOfMessages())
	h.recent.object, h.recent.message = o, m
	return o
}

// payloadOf returns the bytes of a plain Uint8Array, which stay the script's. No code of
// the script runs.
func (h *Handler) payloadOf(o *goja.Object) (b []byte, ok bool) {
	known := o == h.recent.array
	if !known && o.ExportType() != bytesType {
		return nil, false
	}
	if _, plain := h.payloads(); o.Prototype() != plain {
		return nil, false
	}
	if known {
		return h.recent.bytes, true
	}
	b, ok = o.Export().([]byte)
	return b, ok
}

// sent is sendMessage(message, target) and its sisters; nil if something has to be
// converted.
func (h *Handler) sent(how script.How, c goja.FunctionCall) goja.Value {
	o, ok := c.Argument(0).(*goja.Object)
	target, also := h.int32(c.Argument(1))
	if !ok || !also {
		return nil
	}
	m := h.recent.message
	if o != h.recent.object {
		m = messageOf(o)
	}
	if m == nil || m.changed != nil {
		return nil
	}
	how.Send(h.session, m.out, target)
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

// field returns one of messageFields, nil if it was deleted.
func (m *gameMessage) field(i int) goja.Value {
	switch {
	case m.changed != nil:
		return m.changed.values[i]
	case i == 0:
		return m.h.vm.ToValue(m.out.OpCode)
	case i == 1:
		return m.h.vm.ToValue(int32(m.out.Sender))
	case i == 2:
		return m.h.vm.ToValue(m.targetPlayer)
	case i == 3:
		return m.h.vm.ToValue(m.targetGroup)
	case i == 4:
		return m.h.vm.ToValue(m.reliable)
	}
	return m.payload
}

// change makes a message one that can be changed.
func (m *gameMessage) change() *changedMessage {
	if m.changed == nil {
		c := new(changedMessage)
		for i := range c.values {
			c.values[i] = m.field(i)
		}
		m.changed, m.payload = c, nil
	}
	return m.changed
}

// Get implements goja.DynamicObject.
func (m *gameMessage) Get(name string) goja.Value {
	if i := field(name); i >= 0 {
		return m.field(i)
	}
	if m.changed == nil {
		return nil
	}
	return m.changed.more[name]
}

// Set implements goja.DynamicObject.
func (m *gameMessage) Set(name string, v goja.Value) bool {
	c := m.change()
	if i := field(name); i >= 0 {
		c.values[i] = v
		return true
	}
	if c.more == nil {
		c.more = make(map[string]goja.Value)
	}
	if _, ok := c.more[name]; !ok {
		c.order = append(c.order, name)
	}
	c.more[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (m *gameMessage) Has(name string) bool { return m.Get(name) != nil }

// Delete implements goja.DynamicObject.
func (m *gameMessage) Delete(name string) bool {
	if m.changed == nil && field(name) < 0 {
		return true
	}
	c := m.change()
	if i := field(name); i >= 0 {
		c.values[i] = nil
	} else {
		delete(c.more, name)
		c.order = slices.DeleteFunc(c.order, func(s string) bool { return s == name })
	}
	return true
}

// Keys implements goja.DynamicObject.
func (m *gameMessage) Keys() []string {
	if m.changed == nil {
		return messageFields[:]
	}
	keys := make([]string, 0, len(messageFields)+len(m.changed.order))
	for i, v := range m.changed.values {
		if v != nil {
			keys = append(keys, messageFields[i])
		}
	}
	return append(keys, m.changed.order...)
}

// messageOf returns the game message that a value is, or nil.
func messageOf(v goja.Value) *gameMessage {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != messageType { // to export what it is not would run its getters
		return nil
	}
	return o.Export().(*gameMessage)
}

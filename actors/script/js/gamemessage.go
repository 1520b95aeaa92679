package js

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/messages"
)

// gameMessage is a game message as an object of the engine. A plain object of six
// properties is twelve allocations and 700 bytes; there are two per message that is
// answered. Until the script changes one it is what it was made of, and small.
type gameMessage struct {
	h       *Handler
	object  object          // it is, in one piece of memory with the message
	dynamic dynamicObject   // of object
	out     script.Outgoing // if the script sends it
	payload goja.Value      // a plain Uint8Array of out.Payload; nil: of a message received, and not read yet
	targetPlayer,
	targetGroup int32
	reliable bool
	changed  bool // object is another one, a plain object
}

// received is a player's message, which has its payload beside it.
type received struct {
	gameMessage
	memory payload
}

var messageFields = [...]string{"opCode", "sender", "targetPlayer", "targetGroup", "reliable", "payload"}

// dynamicType is the type of what is behind an object that goja.NewDynamicObject makes.
var dynamicType = sync.OnceValue(func() unsafe.Pointer {
	o := goja.NewSharedDynamicObject(new(gameMessage))
	mirror[dynamicObject](implementation(o))
	return wordsOf(o)[0]
})

func (h *Handler) messageObject(m *gameMessage) *goja.Object {
	if h.messageType == nil {
		h.messageType = h.glue.messageType.of().(*goja.Object)
	}
	o := m.asObject()
	m.h, m.object = h, object{[2]unsafe.Pointer{dynamicType(), unsafe.Pointer(&m.dynamic)}, h.vm}
	m.dynamic = dynamicObject{o, h.messageType, m}
	return o
}

func (m *gameMessage) asObject() *goja.Object { return (*goja.Object)(unsafe.Pointer(&m.object)) }

// inbound makes the object of a player's message.
func (h *Handler) inbound(in *script.Message) goja.Value {
	m := new(received)
	m.out = script.Outgoing{OpCode: in.OpCode, Sender: in.Sender, Payload: append([]byte(nil), in.Payload...)}
	m.targetPlayer, m.targetGroup, m.reliable = int32(in.TargetPlayer), int32(in.TargetGroup), in.Reliable
	return h.messageObject(&m.gameMessage)
}

// quickMethods are methods of the session object that need no conversion; what one returns nil for is the affair of the
// method that is there.
var quickMethods = map[string]struct {
	length int
	f      hostFunction
}{
	"newTextGameMessage": {3, (*Handler).made}, "newBinaryGameMessage": {3, (*Handler).made},
	"getServerId": {0, func(h *Handler, _ goja.FunctionCall) goja.Value { return h.vm.ToValue(int32(messages.ServerPeer)) }},
	"sendMessage": {2, sends(0)}, "sendReliableMessage": {2, sends(script.HowReliable)},
	"sendGroupMessage": {2, sends(script.HowGroup)}, "sendReliableGroupMessage": {2, sends(script.HowGroup | script.HowReliable)},
}

// quick is host.quick(methods): it puts the quick methods before those that are there.
func (h *Handler) quick(c goja.FunctionCall) goja.Value {
	methods := c.Argument(0).ToObject(h.vm)
	for name, q := range quickMethods {
		f, method := q.f, function(methods, name)
		both := h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			if v := f(h, c); v != nil {
				return v
			}
			return method(c)
		}).(*goja.Object)
		must(both.DefineDataProperty("name", h.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		must(both.DefineDataProperty("length", h.vm.ToValue(q.length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		must(methods.DefineDataProperty(name, both, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	return goja.Undefined()
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
	payload, plain := h.payloadOf(c.Argument(2))
	if !ok || !also || !plain {
		return nil
	}
	return h.messageObject(&gameMessage{out: script.Outgoing{OpCode: op, Sender: messages.PeerID(sender), Payload: payload}, payload: c.Argument(2), reliable: true})
}

// sends is sendMessage(message, target) and its sisters; nil if something has to be converted.
func sends(how script.How) hostFunction {
	return func(h *Handler, c goja.FunctionCall) goja.Value {
		m := messageOf(c.Argument(0))
		target, ok := h.int32(c.Argument(1))
		if m == nil || !ok {
			return nil
		}
		how.Send(h.session, m.out, target)
		return goja.Undefined()
	}
}

// int32 returns a number that is one.
func (h *Handler) int32(v goja.Value) (int32, bool) {
	if v.ExportType() != intType {
		return 0, false
	}
	i := v.ToInteger()
	return int32(i), int64(int32(i)) == i
}

// intType is that of integers as the engine exports them.
var intType = reflect.TypeFor[int64]()

// Get implements goja.DynamicObject.
func (m *gameMessage) Get(name string) goja.Value {
	switch name {
	case "opCode":
		return m.h.vm.ToValue(m.out.OpCode)
	case "sender":
		return m.h.vm.ToValue(int32(m.out.Sender))
	case "targetPlayer":
		return m.h.vm.ToValue(m.targetPlayer)
	case "targetGroup":
		return m.h.vm.ToValue(m.targetGroup)
	case "reliable":
		return m.h.vm.ToValue(m.reliable)
	case "payload":
		if m.payload == nil {
			m.payload = (*received)(unsafe.Pointer(m)).memory.of(m.h, m.out.Payload)
		}
		return m.payload
	}
	return nil
}

// change makes a message a plain object, and returns it.
func (m *gameMessage) change() *goja.Object {
	if !m.changed {
		plain := m.h.vm.NewObject()
		for _, name := range messageFields {
			must(plain.DefineDataProperty(name, m.Get(name), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE))
		}
		must(plain.SetPrototype(m.dynamic.prototype))
		*fieldOf[*goja.Object](implementation(plain), "val") = m.asObject()
		m.changed = true
		m.object.self = *wordsOf(plain)
	}
	return m.asObject()
}

// Set implements goja.DynamicObject.
func (m *gameMessage) Set(name string, v goja.Value) bool {
	return m.change().DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE) == nil
}

// Has implements goja.DynamicObject.
func (m *gameMessage) Has(name string) bool { return slices.Contains(messageFields[:], name) }

// Delete implements goja.DynamicObject.
func (m *gameMessage) Delete(name string) bool {
	return !m.Has(name) || m.change().Delete(name) == nil
}

// Keys implements goja.DynamicObject.
func (m *gameMessage) Keys() []string { return messageFields[:] }

// messageOf returns the game message that a value is, nil if it is none or was changed.
func messageOf(v goja.Value) *gameMessage {
	if o, ok := v.(*goja.Object); ok && wordsOf(o)[0] == dynamicType() {
		m, _ := (*dynamicObject)(wordsOf(o)[1]).d.(*gameMessage)
		return m
	}
	return nil
}

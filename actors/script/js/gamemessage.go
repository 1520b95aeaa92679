package js

import (
	"cmp"
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
	object  goja.Object     // it is, in one piece of memory with the message
	dynamic dynamicObject   // of object
	out     script.Outgoing // if the script sends it
	payload goja.Value      // a plain Uint8Array of out.Payload; nil: it was not read yet
	targetPlayer,
	targetGroup int32
	reliable bool
	changed  bool // object is another one, a plain object
}

var messageFields = [...]string{"opCode", "sender", "targetPlayer", "targetGroup", "reliable", "payload"}

var _ goja.DynamicObject = (*gameMessage)(nil)

// newMessage is host.message(opCode, sender, payload), of what has been converted; undefined: the payload is no plain Uint8Array.
func (h *Handler) newMessage(c goja.FunctionCall) goja.Value {
	return cmp.Or(h.made(c), goja.Undefined())
}

// dynamicObject is what the engine has behind an object that goja.NewDynamicObject makes.
type dynamicObject struct {
	val, prototype *goja.Object
	d              goja.DynamicObject
}

// dynamicType is the first word of an object of that kind, which says so.
var dynamicType = sync.OnceValue(func() unsafe.Pointer {
	o := goja.NewSharedDynamicObject(new(gameMessage))
	in, ours := implementation(o), reflect.TypeFor[dynamicObject]()
	for _, f := range reflect.VisibleFields(ours) {
		theirs, ok := in.Type().FieldByName(f.Name)
		if at := fieldNamed(in, f.Name); !ok || theirs.Type != f.Type || at.UnsafeAddr()-in.UnsafeAddr() != f.Offset || in.Type().Size() != ours.Size() {
			panic("the engine has changed: its dynamic objects are others")
		}
	}
	return (*[2]unsafe.Pointer)(unsafe.Pointer(o))[0]
})

func (h *Handler) messageObject(m *gameMessage) *goja.Object {
	if h.messageType == nil {
		h.messageType = h.glue.messageType.of().(*goja.Object)
	}
	m.h, m.object, m.dynamic = h, *h.messageType, dynamicObject{&m.object, h.messageType, m} // the runtime of the prototype
	*(*[2]unsafe.Pointer)(unsafe.Pointer(&m.object)) = [2]unsafe.Pointer{dynamicType(), unsafe.Pointer(&m.dynamic)}
	return &m.object
}

// inbound makes the object of a player's message.
func (h *Handler) inbound(in *script.Message) goja.Value {
	return h.messageObject(&gameMessage{
		out:          script.Outgoing{OpCode: in.OpCode, Sender: in.Sender, Payload: append([]byte(nil), in.Payload...)},
		targetPlayer: int32(in.TargetPlayer), targetGroup: int32(in.TargetGroup), reliable: in.Reliable,
	})
}

// recent is what a script that answers a message hands back to us: then its insides
// need not be asked for. Of one call.
type recent struct {
	array   *goja.Object // a payload
	bytes   []byte       // of it
	message *gameMessage // that the script has made
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
	m := &gameMessage{out: script.Outgoing{OpCode: op, Sender: messages.PeerID(sender), Payload: payload}, payload: array, reliable: true}
	h.recent.message = m
	return h.messageObject(m)
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
	if m == nil || o != &m.object {
		m = messageOf(o)
	}
	if m == nil || m.changed {
		return nil
	}
	how.Send(h.session, m.out, target)
	return goja.Undefined()
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
			array := m.h.bytes(m.out.Payload)
			m.payload, m.h.recent.array, m.h.recent.bytes = array, array, m.out.Payload
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
		*fieldOf[*goja.Object](implementation(plain), "val") = &m.object
		m.changed = true
		*(*[2]unsafe.Pointer)(unsafe.Pointer(&m.object)) = *(*[2]unsafe.Pointer)(unsafe.Pointer(plain))
	}
	return &m.object
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

// messageOf returns the game message that a value is, or nil.
func messageOf(v goja.Value) *gameMessage {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != messageType { // to export what it is not would run its getters
		return nil
	}
	return o.Export().(*gameMessage)
}

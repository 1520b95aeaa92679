package js

import (
	"slices"

	"github.com/dop251/goja"
)

// gameMessage is a game message as an object of the engine. A plain object of six
// properties is twelve allocations and 700 bytes; there are two per message that is
// answered.
type gameMessage struct {
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
	m := new(gameMessage)
	for i := range m.values {
		m.values[i] = c.Argument(i + 1)
	}
	o := h.vm.NewDynamicObject(m)
	if prototype, ok := c.Argument(0).(*goja.Object); ok {
		_ = o.SetPrototype(prototype)
	}
	return o
}

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
		m.values[i] = v
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
		m.values[i] = nil
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

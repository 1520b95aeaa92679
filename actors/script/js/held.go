package js

import (
	"reflect"
	"regexp/syntax"
	"strings"
	"unsafe"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// held estimates how many bytes the runtime holds, for the watchdog: what can be reached from
// it through the engine's own types, and its closures that are known (captures). It stops
// counting beyond limit. What only other closures hold, and texts of which a script has kept a piece, it does not see.
func (h *Handler) held(limit int64) int64 {
	m := meter{limit: limit, seen: make(map[uintptr]struct{}), types: make(map[reflect.Type]shape)}
	m.add(reflect.ValueOf(h.vm))
	m.add(reflect.ValueOf(h.ticks))
	for _, t := range h.timers.queue {
		m.add(reflect.ValueOf(t.object))
	}
	m.add(reflect.ValueOf(h.timers.immediates))
	for len(m.pending) > 0 && m.bytes <= limit {
		last := len(m.pending) - 1
		v := m.pending[last]
		m.pending = m.pending[:last]
		m.into(v)
	}
	return m.bytes
}

// memoryLook is a call that does nothing: the watchdog measures during calls.
const memoryLook = "a look at its memory"

// beMeasured is called by the watchdog.
func (h *Handler) beMeasured() {
	h.session.Do(func() {
		_, _ = h.call(memoryLook, func(goja.FunctionCall) goja.Value { return goja.Undefined() }, nil)
	})
}

const (
	// closureBytes stands for what a function holds, which cannot be seen.
	closureBytes = 128
	// textMin is from how many bytes on the same text is counted once.
	textMin = 64
)

// meter counts the memory behind values.
type meter struct {
	bytes, limit int64
	seen         map[uintptr]struct{}
	types        map[reflect.Type]shape
	pending      []reflect.Value // memory that is counted, with values to look at
}

// shape is what is known of a type.
type shape struct {
	ours   bool
	fields []int // of a struct of ours: those that may hold more than themselves
}

func (m *meter) shape(t reflect.Type) shape {
	s, ok := m.types[t]
	if ok {
		return s
	}
	if s.ours = ours(t); s.ours && t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if points(t.Field(i).Type) {
				s.fields = append(s.fields, i)
			}
		}
	}
	m.types[t] = s
	return s
}

// fresh reports whether something at an address has not been counted.
func (m *meter) fresh(at uintptr) bool {
	if _, ok := m.seen[at]; ok || at == 0 {
		return false
	}
	m.seen[at] = struct{}{}
	return true
}

// add counts the memory that a value points to.
func (m *meter) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		t := v.Type().Elem()
		if m.shape(t).ours && !isShared(v) && m.fresh(v.Pointer()) {
			m.bytes += int64(t.Size())
			switch e := v.Elem(); {
			case e.Kind() == reflect.Slice:
				m.add(e) // counted as a whole where nothing in it points further
			case t.Name() == "regexpPattern":
				m.bytes += patternBytes(e)
				fallthrough
			default:
				m.pending = append(m.pending, e)
			}
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		e := v.Elem()
		switch e.Kind() {
		case reflect.Pointer, reflect.Func, reflect.Map: // are in the interface itself
		default:
			m.bytes += int64(e.Type().Size())
		}
		m.add(e)
	case reflect.String:
		if n := v.Len(); n < textMin || m.fresh(uintptr(unsafe.Pointer(unsafe.StringData(v.String())))) {
			m.bytes += int64(n)
		}
	case reflect.Slice:
		if v.IsNil() || !m.fresh(v.Pointer()) {
			return
		}
		m.bytes += int64(v.Cap()) * int64(v.Type().Elem().Size())
		if points(v.Type().Elem()) {
			m.pending = append(m.pending, v)
		}
	case reflect.Map:
		if v.IsNil() || !m.fresh(v.Pointer()) {
			return
		}
		m.bytes += int64(v.Len()) * int64(v.Type().Key().Size()+v.Type().Elem().Size()+1)
		m.pending = append(m.pending, v)
	case reflect.Func:
		if v.IsNil() {
			return
		}
		m.bytes += closureBytes
		for _, held := range captured(v) {
			m.add(held)
		}
	case reflect.Struct:
		for _, i := range m.shape(v.Type()).fields {
			m.add(v.Field(i))
		}
	case reflect.Array:
		if points(v.Type().Elem()) {
			m.into(v)
		}
	}
}

// into adds what is in memory that is counted.
func (m *meter) into(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && m.bytes <= m.limit; i++ {
			m.add(v.Index(i))
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next() && m.bytes <= m.limit; {
			m.add(all.Key())
			m.add(all.Value())
		}
	default:
		m.add(v)
	}
}

// patternBytes estimates what is behind a pattern that the engine has compiled: its instructions, which Go's library
// may have in two forms, or else by its text.
func patternBytes(pattern reflect.Value) int64 {
	const instruction, onePass = int64(unsafe.Sizeof(syntax.Inst{})), 2 * int64(unsafe.Sizeof(syntax.Inst{}))
	compiled := fieldNamed(pattern, "regexpWrapper")
	if compiled.IsNil() {
		return int64(fieldNamed(pattern, "src").Len()) * 8
	}
	bytes := int64(fieldNamed(fieldNamed(compiled.Elem(), "prog").Elem(), "Inst").Cap()) * instruction
	if twice := fieldNamed(compiled.Elem(), "onepass"); !twice.IsNil() {
		bytes += int64(fieldNamed(twice.Elem(), "Inst").Cap()) * onePass
	}
	return bytes
}

// points reports whether a value of a type may hold more than itself.
func points(t reflect.Type) bool {
	return t.Kind() > reflect.Complex128 && t.Kind() != reflect.UnsafePointer || t.Kind() == reflect.Array && points(t.Elem())
}

// isShared reports whether something is code that runtimes share: all but what a script has made of text.
func isShared(v reflect.Value) bool {
	if v.Type() != programType || v.IsNil() {
		return false
	}
	file := fieldNamed(v.Elem(), "src")
	return file.IsNil() || fieldNamed(file.Elem(), "name").String() != compile.EvaluatedName
}

var programType = reflect.TypeFor[*goja.Program]()

// ours reports whether to look into a type: the engine's, and plain ones. Others lead out of the runtime.
func ours(t reflect.Type) bool {
	at := t.PkgPath()
	if at == "" || at == "math/big" {
		return true
	}
	return t == reflect.TypeFor[boundFunction]() || at == engine || strings.HasPrefix(at, engine+"/")
}

// engine is where the engine's types are from.
const engine = "github.com/dop251/goja"

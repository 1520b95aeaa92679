package engine

import (
	"reflect"
	"regexp/syntax"
	"strings"
	"unsafe"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// Held estimates how many bytes a runtime and other values of it hold, up to little more than limit: what can be reached through the engine's own
// types and the closures that are known. What only other closures hold, and texts that a script has kept pieces of, is not counted.
func Held(limit int64, r *goja.Runtime, others ...any) int64 {
	m := meter{limit: limit, seen: make(map[uintptr]struct{}), types: make(map[reflect.Type]shape)}
	m.add(reflect.ValueOf(r))
	for _, v := range others {
		m.add(reflect.ValueOf(v))
	}
	for len(m.pending) > 0 && m.bytes <= limit {
		last := len(m.pending) - 1
		v := m.pending[last]
		m.pending = m.pending[:last]
		m.into(v)
	}
	return m.bytes
}

const (
	closureBytes = 128 // is counted for each closure
	textMin      = 64  // bytes: shorter texts are counted each time
)

// meter counts the memory that values lead to.
type meter struct {
	bytes, limit int64
	seen         map[uintptr]struct{}
	types        map[reflect.Type]shape
	pending      []reflect.Value // memory that is counted, with values to look at
}

// shape is what the meter does with values of a type.
type shape struct {
	looks  bool  // into them
	fields []int // of a struct: those that may hold more than themselves
}

func (m *meter) shape(t reflect.Type) shape {
	s, ok := m.types[t]
	if ok {
		return s
	}
	if s.looks = looks(t); s.looks && t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if points(t.Field(i).Type) {
				s.fields = append(s.fields, i)
			}
		}
	}
	m.types[t] = s
	return s
}

// fresh reports whether nothing at an address has been counted so far.
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
		if m.shape(t).looks && !isShared(v) && m.fresh(v.Pointer()) {
			m.bytes += int64(t.Size())
			switch e := v.Elem(); {
			case e.Kind() == reflect.Slice:
				m.add(e)
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
		case reflect.Pointer, reflect.Func, reflect.Map: // one word, in the interface itself
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

// into adds what memory that is counted points to.
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

// patternBytes estimates what a compiled regular expression takes: by its instructions, which Go's library may have in two forms, or by its text.
func patternBytes(pattern reflect.Value) int64 {
	const instruction, onePass = int64(unsafe.Sizeof(syntax.Inst{})), 2 * int64(unsafe.Sizeof(syntax.Inst{}))
	compiled := field(pattern, "regexpWrapper")
	if compiled.IsNil() {
		return int64(field(pattern, "src").Len()) * 8
	}
	bytes := int64(field(field(compiled.Elem(), "prog").Elem(), "Inst").Cap()) * instruction
	if twice := field(compiled.Elem(), "onepass"); !twice.IsNil() {
		bytes += int64(field(twice.Elem(), "Inst").Cap()) * onePass
	}
	return bytes
}

// points reports whether a value of a type may hold more than itself.
func points(t reflect.Type) bool {
	return t.Kind() > reflect.Complex128 && t.Kind() != reflect.UnsafePointer || t.Kind() == reflect.Array && points(t.Elem())
}

// isShared reports whether a value is code that runtimes share: all code but what a script has evaluated.
func isShared(v reflect.Value) bool {
	if v.Type() != programType || v.IsNil() {
		return false
	}
	file := field(v.Elem(), "src")
	return file.IsNil() || field(file.Elem(), "name").String() != compile.EvaluatedName
}

var programType = reflect.TypeFor[*goja.Program]()

// looks reports whether the meter looks into values of a type. Types of others than the engine lead out of the runtime.
func looks(t reflect.Type) bool {
	at := t.PkgPath()
	return at == "" || at == "math/big" || t == reflect.TypeFor[bound]() || at == gojaPath || strings.HasPrefix(at, gojaPath+"/")
}

const gojaPath = "github.com/dop251/goja"

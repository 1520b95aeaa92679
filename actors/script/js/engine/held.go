package engine

import (
	"reflect"
	"regexp/syntax"
	"strings"
	"unsafe"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// Held estimates how many bytes a runtime and other values of it hold. It stops soon after the estimate
// exceeds limit. It counts the memory that is reachable through the engine's own types and through known
// closures (captures). It does not count memory that only other closures reach, or the original of a text of
// which a script keeps only a substring.
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
	closureBytes = 128 // estimated size of a closure
	textMin      = 64  // texts with fewer bytes are counted at every occurrence
)

// meter sums the memory that is reachable from values.
type meter struct {
	bytes, limit int64
	seen         map[uintptr]struct{}
	types        map[reflect.Type]shape
	pending      []reflect.Value // values already counted, whose referents are not counted yet
}

// shape tells how the meter handles values of a type.
type shape struct {
	looks  bool  // whether the meter follows pointers to this type
	fields []int // for a struct, the indexes of fields that may point to other memory
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

// fresh marks the address at as counted. It returns false if it was marked before or is 0.
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
		case reflect.Pointer, reflect.Func, reflect.Map: // a single word, stored in the interface itself
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

// into adds the memory that v points to. v itself is already counted.
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

// patternBytes estimates the size of a compiled regular expression by its instructions. Go's regexp package
// may keep a second form of them (onepass). For an expression of the backtracking library, the estimate is 8
// bytes per character of the source.
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

// points reports whether values of type t may point to other memory.
func points(t reflect.Type) bool {
	return t.Kind() > reflect.Complex128 && t.Kind() != reflect.UnsafePointer || t.Kind() == reflect.Array && points(t.Elem())
}

// isShared reports whether v is a program that runtimes share. Only programs that a script has evaluated are
// not shared.
func isShared(v reflect.Value) bool {
	if v.Type() != programType || v.IsNil() {
		return false
	}
	file := field(v.Elem(), "src")
	return file.IsNil() || field(file.Elem(), "name").String() != compile.EvaluatedName
}

var programType = reflect.TypeFor[*goja.Program]()

// looks reports whether the meter follows pointers to type t. Types outside the engine lead out of the
// runtime.
func looks(t reflect.Type) bool {
	at := t.PkgPath()
	return at == "" || at == "math/big" || t == reflect.TypeFor[bound]() || at == gojaPath || strings.HasPrefix(at, gojaPath+"/")
}

const gojaPath = "github.com/dop251/goja"

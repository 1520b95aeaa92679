package engine

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// Reading an object by reflection takes a hundred nanoseconds and allocates, and reading it like a script does
// may run code of the script. For what a game does in every tick, this file reads plain data directly: its
// structs mirror those of the engine (mirrored compares them).

// Kind is what the engine stores a value as.
type Kind uint8

// The kinds. Other is anything that is not listed, such as a symbol or a property with a getter.
const (
	Other Kind = iota
	Undefined
	Null
	Boolean
	Integer
	Float
	ASCIIText // the result of String is the text, without a copy
	WideText  // a goja.String with other characters, or one that was not checked yet
	Reference // a *goja.Object
)

// Record mirrors the base of all objects.
type Record struct {
	class                           string
	val, prototype                  *goja.Object
	extensible                      bool
	values                          map[unistring.String]goja.Value
	propNames                       []unistring.String
	lastSortedPropLen, idxPropCount int
	symValues, privateElements      unsafe.Pointer
}

type arrayObject struct {
	Record
	values []goja.Value
	length uint32
}

type arrayIterObject struct {
	Record
	obj     *goja.Object
	nextIdx int64
	kind    int
}

type object struct {
	self    [2]unsafe.Pointer // an interface: its table of methods, which tells the type, and the object
	runtime *goja.Runtime
}

type stack struct { // vm
	r   *goja.Runtime
	prg *program
	pc  int
}

type program struct {
	code [][2]uintptr // interfaces
}

// table returns the table of methods of an interface with methods. Equal tables mean equal types.
func table[I any](v *I) uintptr { return *(*uintptr)(unsafe.Pointer(v)) }

func selfTable(o *goja.Object) uintptr {
	return uintptr((*object)(unsafe.Pointer(o)).self[0])
}

func selfOf[T any](o *goja.Object) *T { return (*T)((*object)(unsafe.Pointer(o)).self[1]) }

// plain has the tables that tell the types.
type plain struct {
	null, undefined, boolean        uintptr
	integer, float, ascii           uintptr
	imported, unicode, reference    uintptr
	record, array, arrayIterator    uintptr
	objectPrototype, arrayPrototype uintptr
	iterationValue                  int
	iterNext, iterGetNextOrUndef    uintptr
}

var plains = sync.OnceValue(func() *plain {
	r := goja.New()
	value := func(source string) goja.Value {
		v, err := r.RunString(source)
		if err != nil {
			panic(err)
		}
		return v
	}
	of := func(source string) uintptr { v := value(source); return table(&v) }
	self := func(source string) uintptr { return selfTable(value(source).(*goja.Object)) }
	imported := r.ToValue("a text from outside of the engine")
	p := &plain{
		null: of("null"), undefined: of("undefined"), boolean: of("true"), integer: of("1"), float: of("0.5"), ascii: of("'a'"),
		imported: table(&imported), unicode: of("'\u20ac'"), reference: of("({})"),
		record: self("({})"), array: self("[]"), arrayIterator: self("[1].values()"), objectPrototype: self("Object.prototype"), arrayPrototype: self("Array.prototype"),
	}
	mirrored[object](reflect.TypeFor[goja.Object]())
	mirrored[Record](inside(value("({})").(*goja.Object)).Type())
	mirrored[Record](inside(value("Object.prototype").(*goja.Object)).Type())
	mirrored[Record](inside(value("Array.prototype").(*goja.Object)).Type())
	mirrored[arrayObject](inside(value("[]").(*goja.Object)).Type())
	mirrored[arrayIterObject](inside(value("[1].values()").(*goja.Object)).Type())
	vm := machine(r)
	mirrored[stack](vm.Type())
	mirrored[program](field(vm, "prg").Type().Elem())
	p.iterationValue = selfOf[arrayIterObject](value("[1].values()").(*goja.Object)).kind
	code := field(reflect.ValueOf(goja.MustCompile("", "var a; for (a of []); [a] = []", false)).Elem(), "code")
	for i := range code.Len() {
		at := *(*uintptr)(unsafe.Pointer(code.Index(i).UnsafeAddr()))
		switch code.Index(i).Elem().Type().Name() {
		case "iterNext":
			p.iterNext = at
		case "iterGetNextOrUndef":
			p.iterGetNextOrUndef = at
		}
	}
	if p.iterNext == 0 || p.iterGetNextOrUndef == 0 {
		panic(changed("no instruction asks an iterator for its next value"))
	}
	return p
})

// mirrored panics if a struct does not mirror the engine's.
func mirrored[T any](real reflect.Type) {
	mirror := reflect.TypeFor[T]()
	for i := range mirror.NumField() {
		m := mirror.Field(i)
		if m.Anonymous {
			m.Name = "baseObject"
		}
		f, ok := real.FieldByName(m.Name)
		if !ok || f.Offset != m.Offset || f.Type.Size() != m.Type.Size() {
			panic(changed("%v has no field %s like that of %v", real, m.Name, mirror))
		}
	}
}

// KindOf returns the kind of v.
func KindOf(v goja.Value) Kind {
	p := plains()
	switch table(&v) {
	case p.integer:
		return Integer
	case p.float:
		return Float
	case p.ascii:
		return ASCIIText
	case p.reference:
		return Reference
	case p.boolean:
		return Boolean
	case p.null:
		return Null
	case p.undefined:
		return Undefined
	case p.imported, p.unicode:
		return WideText
	}
	return Other
}

// Text returns a text with a copy of b, which must be ASCII.
func Text(b []byte) goja.String {
	var t goja.StringBuilder
	t.Grow(len(b))
	t.WriteUTF8String(unsafe.String(unsafe.SliceData(b), len(b)))
	return t.String()
}

// RecordOf returns the inside of an object whose properties are all that it is, such as a literal or an instance of a
// class of the script. It returns nil for any other object.
func RecordOf(o *goja.Object) *Record {
	if selfTable(o) == plains().record {
		if r := selfOf[Record](o); r.class == "Object" {
			return r
		}
	}
	return nil
}

// PrototypeOf returns the inside of Object.prototype or Array.prototype, whose built-in properties Own may not know yet.
// Prototype is nil for Array.prototype until something has asked for it. PrototypeOf returns nil if o is of another type.
func PrototypeOf(o *goja.Object) *Record {
	if t := selfTable(o); t == plains().objectPrototype || t == plains().arrayPrototype {
		return selfOf[Record](o)
	}
	return nil
}

// Names returns the names of all properties with a text as the key, in the order in which a script sees them.
func (r *Record) Names() []unistring.String {
	for _, name := range r.propNames[min(r.lastSortedPropLen, len(r.propNames)):] {
		if name != "" && name[0] >= '0' && name[0] <= '9' { // numbers come first
			_ = r.val.Keys() // sorts
			break
		}
	}
	return r.propNames
}

// Own returns the property of an object itself, or nil. It is of the kind Other if it is more than a value.
func (r *Record) Own(name unistring.String) goja.Value { return r.values[name] }

// Prototype returns the prototype of an object, or nil.
func (r *Record) Prototype() *goja.Object { return r.prototype }

// ListOf returns an array: its elements, for reading, and the rest of the object. It returns nil for any other object,
// and for an array whose length is not the number of its elements. An element may be nil, or of the kind Other.
func ListOf(o *goja.Object) ([]goja.Value, *Record) {
	if selfTable(o) != plains().array {
		return nil, nil
	}
	a := selfOf[arrayObject](o)
	if int(a.length) != len(a.values) {
		return nil, nil
	}
	return a.values, &a.Record
}

// Steps makes the steps of iterators of arrays cheap.
type Steps struct {
	plain     *plain
	stack     *stack
	result    *goja.Object // the result of all steps
	inside    *Record
	yes, no   goja.Value
	undefined goja.Value
}

// StepsOf returns the Steps of a runtime.
func StepsOf(r *goja.Runtime) *Steps {
	s := &Steps{plain: plains(), stack: (*stack)(unsafe.Pointer(machine(r).UnsafeAddr())), result: r.NewObject(), yes: r.ToValue(true), no: r.ToValue(false), undefined: goja.Undefined()}
	s.inside = selfOf[Record](s.result)
	return s
}

// Result returns the object that holds the value of the last step.
func (s *Steps) Result() *goja.Object { return s.result }

// Next returns what the next function of an array iterator returns, if the current instruction drops that at once, as
// for-of and destructuring do. Then all steps share one object: the engine itself makes one with a map for each.
// Otherwise it returns nil, and the iterator has not changed.
func (s *Steps) Next(this goja.Value) goja.Value {
	p := s.plain
	if s.stack.prg == nil || s.stack.pc >= len(s.stack.prg.code) {
		return nil
	}
	if at := s.stack.prg.code[s.stack.pc][0]; at != p.iterNext && at != p.iterGetNextOrUndef {
		return nil
	}
	o, ok := this.(*goja.Object)
	if !ok || selfTable(o) != p.arrayIterator {
		return nil
	}
	i := selfOf[arrayIterObject](o)
	if i.kind != p.iterationValue || i.obj == nil {
		return nil
	}
	list, rest := ListOf(i.obj)
	if rest == nil {
		return nil
	}
	if i.nextIdx >= int64(len(list)) {
		i.obj = nil
		s.inside.values["value"], s.inside.values["done"] = s.undefined, s.yes
		return s.result
	}
	v := list[i.nextIdx]
	if v == nil || KindOf(v) == Other {
		return nil
	}
	i.nextIdx++
	s.inside.values["value"], s.inside.values["done"] = v, s.no
	return s.result
}

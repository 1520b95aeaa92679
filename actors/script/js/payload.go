package js

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// payload is a Uint8Array with its ArrayBuffer, as the engine has them, in one piece of memory. The
// engine's own constructor allocates each part, and looks properties up before.
type payload struct {
	array, buffer object
	view          typedArray  // behind array
	store         arrayBuffer // behind buffer
}

// Structs of the engine, field by field: goja.Object, and what is behind objects.
type (
	object struct {
		self    [2]unsafe.Pointer // an interface: the type of the struct behind it, and its address
		runtime *goja.Runtime
	}
	baseObject struct {
		class                           string
		val, prototype                  *goja.Object
		extensible                      bool
		values                          map[unistring.String]goja.Value
		propNames                       []unistring.String
		lastSortedPropLen, idxPropCount int
		symValues, privateElements      unsafe.Pointer
	}
	typedArray struct {
		baseObject
		viewedArrayBuf           *arrayBuffer
		defaultCtor              *goja.Object
		length, offset, elemSize int
		typedArray               [2]unsafe.Pointer
	}
	arrayBuffer struct {
		baseObject
		detached bool
		data     []byte
	}
	dynamicObject struct {
		val, prototype *goja.Object
		d              goja.DynamicObject
	}
)

// mirror returns a struct of the engine as one of ours with the same fields.
func mirror[T any](theirs reflect.Value) *T {
	ours := reflect.ValueOf(new(T)).Elem()
	same := ours.Type().Size() == theirs.Type().Size()
	for _, f := range reflect.VisibleFields(ours.Type()) {
		a, b := ours.FieldByIndex(f.Index), fieldNamed(theirs, f.Name)
		same = same && b.IsValid() && a.UnsafeAddr()-ours.UnsafeAddr() == b.UnsafeAddr()-theirs.UnsafeAddr() && a.Type().Size() == b.Type().Size() &&
			(a.Type() == b.Type() || points(b.Type()) && a.Kind() >= reflect.Array)
	}
	if !same {
		panic("the engine has changed: " + theirs.Type().Name() + " has other fields")
	}
	return (*T)(unsafe.Pointer(theirs.UnsafeAddr()))
}

// wordsOf returns the interface that an object begins with.
func wordsOf(o *goja.Object) *[2]unsafe.Pointer { return &(*object)(unsafe.Pointer(o)).self }

// emptyPayload is what all payloads begin as, in every runtime.
var emptyPayload = sync.OnceValue(func() *payload {
	r := goja.New()
	buffer := r.ToValue(r.NewArrayBuffer(nil)).(*goja.Object)
	array, err := r.New(r.Get("Uint8Array"), buffer)
	must(err)
	mirror[object](reflect.ValueOf(array).Elem())
	view, store := mirror[typedArray](implementation(array)), mirror[arrayBuffer](implementation(buffer))
	p := new(payload) // without what is this runtime's
	p.array.self[0], p.buffer.self[0] = wordsOf(array)[0], wordsOf(buffer)[0]
	p.view.class, p.view.extensible, p.view.elemSize, p.view.typedArray[0] = view.class, true, 1, view.typedArray[0]
	p.store.class, p.store.extensible = store.class, true
	return p
})

// bytes makes a plain Uint8Array of b, which it takes over.
func (h *Handler) bytes(b []byte) *goja.Object { return new(payload).of(h, b) }

// of makes p a payload of b.
func (p *payload) of(h *Handler, b []byte) *goja.Object {
	constructor, prototype := h.payloads()
	*p = *emptyPayload()
	array, buffer := (*goja.Object)(unsafe.Pointer(&p.array)), (*goja.Object)(unsafe.Pointer(&p.buffer))
	p.array.self[1], p.array.runtime = unsafe.Pointer(&p.view), h.vm
	p.buffer.self[1], p.buffer.runtime = unsafe.Pointer(&p.store), h.vm
	p.view.val, p.view.prototype, p.view.defaultCtor = array, prototype, constructor
	p.view.viewedArrayBuf, p.view.length, p.view.typedArray[1] = &p.store, len(b), unsafe.Pointer(&p.store.data)
	p.store.val, p.store.prototype, p.store.data = buffer, h.plain.buffer, b
	p.view.values, p.store.values = make(map[unistring.String]goja.Value), make(map[unistring.String]goja.Value)
	return array
}

// payloadOf returns the bytes of a plain Uint8Array, which stay the script's. No code of the script runs.
func (h *Handler) payloadOf(v goja.Value) (b []byte, ok bool) {
	o, ok := v.(*goja.Object)
	if !ok || wordsOf(o)[0] != emptyPayload().array.self[0] {
		return nil, false
	}
	view := (*typedArray)(wordsOf(o)[1])
	_, plain := h.payloads()
	if view.prototype != plain || view.typedArray[0] != emptyPayload().view.typedArray[0] || view.viewedArrayBuf.detached {
		return nil, false
	}
	return view.viewedArrayBuf.data[view.offset : view.offset+view.length], true
}

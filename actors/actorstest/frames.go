package actorstest

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"troupe/messages/wire"
)

// Refs reads the reference count of a frame, which wire keeps to itself.
func Refs(f *wire.Frame) int64 {
	v := reflect.ValueOf(f).Elem().FieldByName("refs").FieldByName("v")
	return int64(atomic.LoadInt32((*int32)(unsafe.Pointer(v.UnsafeAddr()))))
}

// Frames holds one reference to each of many frames, and says in the end
// whether it is the last to do so.
type Frames struct {
	mu  sync.Mutex
	all map[*wire.Frame]bool
}

// Track takes a reference to f, once, and returns f.
func (c *Frames) Track(f *wire.Frame) *wire.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[*wire.Frame]bool)
	}
	if !c.all[f] {
		c.all[f] = true
		f.Retain()
	}
	return f
}

// held reports whether somebody else holds a frame.
func (c *Frames) held() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.all {
		if Refs(f) != 1 {
			return true
		}
	}
	return false
}

// Balanced fails t for every frame that somebody else holds, and lets go of all.
func (c *Frames) Balanced(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.all {
		if n := Refs(f); n != 1 {
			t.Errorf("frame with op %d has %d references left, not 1", f.OpCode(), n)
		}
		f.Release()
	}
	c.all = nil
}

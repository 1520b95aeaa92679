package actorstest

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"troupe/messages/wire"
)

// Refs reads the reference count of a frame, which is private to package wire.
func Refs(f *wire.Frame) int64 {
	v := reflect.ValueOf(f).Elem().FieldByName("refs").FieldByName("v")
	return int64(atomic.LoadInt32((*int32)(unsafe.Pointer(v.UnsafeAddr()))))
}

// Frames holds one reference to each of many frames. At the end of a test it checks that no other references are left.
type Frames struct {
	mu  sync.Mutex
	all map[*wire.Frame]bool
}

// Track takes one reference to f, even if it is called repeatedly, and returns f.
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

// held reports whether there is another reference to any of the frames.
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

// Balanced fails t for every frame to which there is another reference, and releases all frames.
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

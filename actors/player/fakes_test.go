package player

import (
	"reflect"
	"sync"

	"troupe/messages"
	"troupe/messages/wire"
)

// refs reads the reference count of a frame, which is private to package wire.
func refs(f *wire.Frame) int64 {
	return reflect.ValueOf(f).Elem().FieldByName("refs").FieldByName("v").Int()
}

// frames creates frames and checks that they are released.
type frames struct {
	mu  sync.Mutex
	all []*wire.Frame
}

// make returns a frame. Its op code is its sequence number, counted from 1. The frames value keeps its own reference.
func (c *frames) make(payload int) *wire.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := wire.NewFrame(&wire.Header{OpCode: int32(len(c.all) + 1), Payload: make([]byte, payload)})
	c.all = append(c.all, f)
	return f
}

// balanced fails unless the frames value holds the only reference to each frame. It then releases the frames.
func (c *frames) balanced(t interface{ Errorf(string, ...any) }) {
	for i, f := range c.all {
		if n := refs(f); n != 1 {
			t.Errorf("frame %d has %d references left, not 1", i+1, n)
		}
		f.Release()
	}
	c.all = nil
}

// fakeLink takes up to room frames per drain. 0 means no limit.
type fakeLink struct {
	mu     sync.Mutex
	source wire.Source
	room   int
	got    []int32 // op codes
	closed []messages.CloseReason
	taken  int
	on     bool // drain the outbox at every Flush
}

func (l *fakeLink) Append(f *wire.Frame) bool {
	l.got = append(l.got, f.OpCode())
	l.taken++
	return l.room == 0 || l.taken < l.room
}

func (l *fakeLink) AppendNumbered(f *wire.Frame, _, _ uint64) bool { return l.Append(f) }
func (l *fakeLink) Mark(uint64) bool                               { return true }
func (l *fakeLink) PongsInOrder() bool                             { return true }

func (l *fakeLink) SetSource(s wire.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.source = s
}

func (l *fakeLink) Flush() {
	if l.on {
		l.drain()
	}
}

func (l *fakeLink) drain() (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == nil {
		return false
	}
	l.taken = 0
	return l.source.Drain(l)
}

func (l *fakeLink) Close(r messages.CloseReason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = append(l.closed, r)
}

func (l *fakeLink) ops() []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int32(nil), l.got...)
}

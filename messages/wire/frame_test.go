package wire

import (
	"bytes"
	"sync"
	"testing"
)

// panics reports whether f panics.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestFrameMisusePanics(t *testing.T) {
	// Build the frames outside the pools, so that no other test can get them.
	freed := func() *Frame {
		f := &Frame{class: classNone, unit: make([]byte, 8)}
		f.refs.Store(1)
		f.Release()
		return f
	}
	for name, misuse := range map[string]func(*Frame){
		"Release":        func(f *Frame) { f.Release() },
		"Retain":         func(f *Frame) { f.Retain() },
		"Payload":        func(f *Frame) { f.Payload() },
		"Unit":           func(f *Frame) { f.Unit() },
		"Len":            func(f *Frame) { f.Len() },
		"OpCode":         func(f *Frame) { f.OpCode() },
		"AppendReliable": func(f *Frame) { f.AppendReliable(nil) },
		"AppendFast":     func(f *Frame) { f.AppendFast(nil, 1) },
		"AppendNumbered": func(f *Frame) { f.AppendNumbered(nil, 1, 1) },
		"NumberedLen":    func(f *Frame) { f.NumberedLen(1, 1) },
	} {
		f := freed()
		if !panics(func() { misuse(f) }) {
			t.Errorf("%s of a released frame does not panic", name)
		}
	}
}

// ReleaseAll must have the same effect as Release for each frame. The test uses frames of all size classes, more frames
// than a list can hold, and frames with other references.
func TestReleaseAll(t *testing.T) {
	payload := bytes.Repeat([]byte{'x'}, ScriptPayloadMax)
	for _, size := range []int{1, 300, 1, 1, 3000, ScriptPayloadMax, 1} {
		frames := make([]*Frame, 0, 1000)
		var shared, all []*Frame
		for i := range cap(frames) {
			f := NewFrame(&Header{OpCode: int32(i + 1), Payload: payload[:size*(i%2)]})
			if frames = append(frames, f); i%7 == 0 {
				shared = append(shared, f.Retain())
			}
		}
		all = append(all, frames...)
		ReleaseAll(frames)
		for i, f := range all {
			if left := f.refs.Load(); left != 0 && i%7 != 0 {
				t.Fatalf("%d references left of frame %d", left, i)
			}
		}
		for i, f := range shared {
			if f.OpCode() != int32(7*i+1) {
				t.Fatalf("frame %d is now %d", 7*i+1, f.OpCode())
			}
		}
		ReleaseAll(shared)
	}
	f := NewFrame(&Header{OpCode: 1})
	if !panics(func() { ReleaseAll([]*Frame{f, f}) }) {
		t.Error("a frame was released twice")
	}
	ReleaseAll(nil)
}

// The frame has its own copy of the payload, so the caller's buffer may be reused at once.
func TestFrameCopiesItsPayload(t *testing.T) {
	buffer := []byte("abc")
	f := NewFrame(&Header{OpCode: 1, Payload: buffer})
	defer f.Release()
	copy(buffer, "xyz")
	if string(f.Payload()) != "abc" {
		t.Errorf("payload is now %q", f.Payload())
	}
}

func TestFrameSharedByManyGoroutines(t *testing.T) {
	const readers, rounds = 8, 200
	for round := range rounds {
		f := NewFrame(&Header{OpCode: int32(round), TargetGroup: AllPlayers, Sender: 1, Payload: bytes.Repeat([]byte{byte(round)}, 50)})
		want := f.AppendFast(nil, 1)
		var group sync.WaitGroup
		for range readers {
			f.Retain()
			group.Go(func() {
				defer f.Release()
				if !bytes.Equal(f.AppendFast(nil, 1), want) {
					t.Error("the frame differs between readers")
				}
			})
		}
		f.Release()
		group.Wait()
	}
}

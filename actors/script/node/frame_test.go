package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"time"
)

// encode is the inverse of parse.
func encode(f fields) []byte {
	e := frame{}
	e.u32(f.game)
	e.u8(uint8(f.kind))
	switch f.kind {
	case fromAck, fromExports:
		e.u32(f.n)
	case fromLoaded, fromSlow:
		e.u32(f.n)
	case fromAnswer:
		e.u32(f.n)
		e.u8(f.flags)
	case fromSend:
		e.u8(f.flags)
		e.i32(f.a)
		e.i32(f.b)
		e.i32(f.c)
	case fromMembers:
		e.i32(f.a)
		e.i32(f.b)
	case fromKick, fromExit, fromBackfill:
		e.i32(f.a)
	case fromLog:
		e.u8(f.flags)
		e.u32(f.n)
		e.text(string(f.file))
	case fromErred:
		e.u8(f.flags)
	}
	e.rest(f.rest)
	return e.b
}

func unit(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

var samples = []fields{
	{kind: fromAck, n: 3}, {kind: fromLoaded, n: 6, rest: []byte(`{"maxPlayers":2}`)}, {kind: fromFailed, rest: []byte("no")},
	{kind: fromAnswer, n: 1 << 31, flags: 1}, {kind: fromExports}, {kind: fromSend, flags: 3, a: -1, b: 2, c: 1 << 30, rest: []byte{0, 255}},
	{kind: fromMembers, a: 1, b: -1}, {kind: fromKick, a: 7, rest: []byte("rude")}, {game: 1 << 31, kind: fromEnding}, {game: 7, kind: fromExit, a: -1}, {kind: fromCrash},
	{kind: fromLog, flags: 6, n: 12, file: []byte("a.js"), rest: []byte("text")}, {kind: fromSlow, n: 60, rest: []byte("onMessage")}, {kind: fromErred, flags: 2}, {kind: fromBackfill, a: 1},
}

func TestFramesAreReadAsTheyAreWritten(t *testing.T) {
	for _, f := range samples {
		b := encode(f)
		got, err := parse(b)
		if err != nil || !bytes.Equal(encode(got), b) || got.kind != f.kind {
			t.Errorf("%+v became %+v, %v", f, got, err)
		}
		if len(f.rest) == 0 && f.kind != fromCrash {
			for n := range b {
				if _, err := parse(b[:n]); !errors.Is(err, errMalformed) {
					t.Errorf("%d of %d bytes of %+v: %v", n, len(b), f, err)
				}
			}
			if _, err := parse(append(b, 0)); !errors.Is(err, errMalformed) {
				t.Errorf("a byte more of %+v: %v", f, err)
			}
		}
	}
}

// parse returns what encode has written, and accepts no other input.
func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add(encode(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parse(b)
		if err != nil {
			if !errors.Is(err, errMalformed) {
				t.Error(err)
			}
			return
		}
		if again := encode(got); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

// Reading a stream in pieces returns the same frames as reading it at once, with buffers of limited size.
func FuzzStream(f *testing.F) {
	var all []byte
	for _, s := range samples {
		all = append(all, unit(encode(s))...)
	}
	f.Add(all, uint16(1))
	f.Add(append(all, 0, 0, 0, 0), uint16(7))
	f.Add(append(all, 255, 255, 255, 255, 1), uint16(3))
	f.Fuzz(func(t *testing.T, stream []byte, step uint16) {
		read := func(step int) (text string, err error) {
			buf, list := make([]byte, 0, readMin), []fields(nil)
			for rest := stream; len(rest) > 0 && err == nil; {
				n := copy(buf[len(buf):min(cap(buf), len(buf)+step)], rest)
				if n == 0 {
					t.Fatalf("no room in %d of %d bytes", len(buf), cap(buf))
				}
				buf, rest = buf[:len(buf)+n], rest[n:]
				used, size := 0, 1
				for size > 0 && err == nil {
					size, list, err = split(buf[used:], list[:0])
					for _, f := range list {
						text += string(encode(f))
					}
					used += size
				}
				if err == nil {
					buf = again(buf, used)
				}
				if cap(buf) > frameMax+4 && cap(buf) > readMin {
					t.Fatalf("a buffer of %d bytes", cap(buf))
				}
			}
			return text, err
		}
		one, err1 := read(max(int(step), 1))
		two, err2 := read(readMin)
		if one != two || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q, %v or %q, %v", one, err1, two, err2)
		}
	})
}

// A long frame makes the buffer grow, and later it shrinks again.
func TestBuffersOfLongFrames(t *testing.T) {
	long := unit(encode(fields{kind: fromCrash, rest: make([]byte, frameMax-headLen)}))
	buf := append(make([]byte, 0, readMin), long[:readMin]...)
	buf = again(buf, 0)
	if cap(buf) != len(long) || len(buf) != readMin {
		t.Fatal(len(buf), cap(buf))
	}
	buf = append(buf, long[readMin:]...)
	used, list, err := split(buf, nil)
	if used != len(long) || len(list) != 1 || err != nil {
		t.Fatal(used, len(list), err)
	}
	if buf = again(buf, used); len(buf) != 0 || cap(buf) != readMin {
		t.Error(len(buf), cap(buf))
	}
	for _, n := range []uint32{0, headLen - 1, frameMax + 1, 1 << 31} {
		if _, _, err := split(binary.LittleEndian.AppendUint32(nil, n), nil); !errors.Is(err, errMalformed) {
			t.Error(n, err)
		}
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	q := queue{wake: make(chan struct{}, 1)}
	put := func(n int) error { return q.put(7, toConfirm, func(f *frame) { f.rest(make([]byte, n)) }) }
	if err := put(frameMax); err != errTooLong || cap(q.buf) > frameMax {
		t.Errorf("a frame that is too long: %v, and the queue keeps %d bytes", err, cap(q.buf))
	}
	n := 0
	for ; n < 100; n++ {
		if err := put(1<<20 - 4 - headLen); err == errFull {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n != 4 {
		t.Errorf("%d MiB are queued", n)
	}
	if err := put(1); err != errFull {
		t.Error("what has overflowed goes on:", err)
	}
	done := make(chan struct{})
	var out bytes.Buffer
	go func() { q.run(&out, time.Millisecond); close(done) }()
	for !q.empty() {
		runtime.Gosched()
	}
	q.close()
	<-done
	if out.Len() != n*(1<<20) {
		t.Errorf("%d bytes are written", out.Len())
	}
	for _, length := range []int{1, frameMax} {
		if put(length); q.buf != nil {
			t.Errorf("a closed queue keeps %d bytes of a frame of %d", cap(q.buf), length)
		}
	}
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.buf) == 0
}

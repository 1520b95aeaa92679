package player

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages/counters"
)

// If a client stays alive but never echoes, the host must notice, so that the queue does not fill with messages that
// the client already has.
func TestAClientThatNeverEchoesIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made frames
		var count counters.Set
		out := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() {})
		link := &fakeLink{}
		out.attach(by(link, ByMarks))
		since := time.Now()
		held := func() int {
			out.Push(made.make(1))
			link.drain()
			out.Mark(0, since, time.Now())
			n, _ := depth(out)
			return n
		}
		for i := range 4 { // a ping every 3 s
			if n := held(); n != i+1 {
				t.Errorf("after %d pings %d are held", i, n)
			}
			time.Sleep(3 * time.Second)
		}
		assert.Equal(t, "are held for a client that does not echo", held(), 0)
		out.detach()
		out.attach(by(link, ByMarks)) // no messages are kept on the next connection either
		assert.Equal(t, "are held", held(), 0)
		out.close()
		made.balanced(t)
	})
}

// A client that gives no sign of life after the first ping is dead, not mute.
func TestASilentClientIsNotTakenForOneThatDoesNotEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made frames
		var count counters.Set
		out := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() {})
		link := &fakeLink{}
		out.attach(by(link, ByMarks))
		out.Push(made.make(1))
		link.drain()
		since := time.Now()
		for range 3 { // a ping every 20 s
			out.Mark(0, since, time.Time{})
			time.Sleep(20 * time.Second)
		}
		if n, _ := depth(out); n != 1 {
			t.Errorf("%d are held for the one who may come back", n)
		}
		out.close()
		made.balanced(t)
	})
}

// A client cannot echo a ping before the ping has arrived. So a client on a slow path must not count as mute. If
// nothing shows how slow the path is, the number of bytes sent before the ping is used instead.
func TestASlowClientIsNotTakenForOneThatDoesNotEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made frames
		var count counters.Set
		out := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() {})
		link := &fakeLink{}
		out.attach(by(link, ByMarks))
		for range 4 {
			out.Push(made.make(10 << 10))
		}
		link.drain()
		held := func(reachedAt time.Time) int {
			out.Mark(0, reachedAt, time.Now()) // the client sends all the time
			n, _ := depth(out)
			return n
		}
		var never time.Time
		for range 20 {
			if n := held(never); n != 4 {
				t.Fatalf("%d are held for a client that has no ping yet", n)
			}
			time.Sleep(3 * time.Second)
		}
		reached := time.Now() // the ping has reached the client's system, or something in front of it: 40 KiB may take 40 s
		time.Sleep(49 * time.Second)
		assert.Equal(t, "are held for a client that may have no ping yet", held(reached), 4)
		time.Sleep(2 * time.Second)
		assert.Equal(t, "are held for a client that does not echo", held(reached), 0)
		out.close()
		made.balanced(t)
	})
}

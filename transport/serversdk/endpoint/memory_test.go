package endpoint

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// Connections that do not read take the memory of all. Those that do still get what is small.
func TestSmallAnswersPassThoseWhoDoNotRead(t *testing.T) {
	e := &Endpoint{o: Options{Counters: new(counters.Set)}}
	e.memory.waiting.Store(writtenMax)
	c := &conn{e: e}
	c.send(make([]byte, freeWritten/2))
	if c.hasEnded() || e.memory.waiting.Load() != writtenMax {
		t.Error(c.hasEnded(), e.memory.waiting.Load())
	}
	c.send(make([]byte, freeWritten))
	if !c.hasEnded() || e.memory.waiting.Load() != writtenMax {
		t.Error(c.hasEnded(), e.memory.waiting.Load())
	}
}

// A timer that fires as the connection is to stay ends nothing.
func TestATimerThatFiresAsTheConnectionStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{e: &Endpoint{o: Options{Counters: new(counters.Set)}}}
		c.mu.Lock()
		c.after(time.Second, c.cut)
		time.Sleep(time.Second) // it waits for mu
		c.stays()
		c.mu.Unlock()
		synctest.Wait()
		if c.hasEnded() {
			t.Error("it has ended")
		}
	})
}

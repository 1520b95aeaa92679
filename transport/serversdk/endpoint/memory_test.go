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

// Messages of others take all memory. A connection still gets what is small, and gives back what it has.
func TestSmallMessagesPassThoseOfOthers(t *testing.T) {
	c := &conn{e: new(Endpoint)}
	held := &c.e.memory.held
	held.Store(heldMax)
	if !c.hold(freeBytes) || c.hold(1) || held.Load() != heldMax || c.held != freeBytes {
		t.Error(held.Load()-heldMax, c.held)
	}
	held.Store(heldMax - 1)
	if !c.hold(1) || held.Load() != heldMax || c.held != freeBytes+1 {
		t.Error(held.Load()-heldMax, c.held)
	}
	held.Add(10) // another connection is about to be refused
	if !c.hold(-2) || held.Load() != heldMax+9 || c.held != freeBytes-1 {
		t.Error(held.Load()-heldMax, c.held)
	}
}

// Four large messages are parsed at a time. Small ones do not wait for them.
func TestLargeMessagesAreParsedAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory{large: make(chan struct{}, largeMax)}
		for range largeMax {
			m.large <- struct{}{}
		}
		parsed := 0
		go func() {
			m.parse(make([]byte, largeBytes))
			parsed++
		}()
		m.parse(make([]byte, largeBytes-1))
		synctest.Wait()
		if parsed != 0 {
			t.Error("a fifth one is parsed")
		}
		<-m.large
		synctest.Wait()
		if parsed != 1 || len(m.large) != largeMax-1 {
			t.Error(parsed, len(m.large))
		}
	})
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

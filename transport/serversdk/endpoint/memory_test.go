package endpoint

import (
	"testing"

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

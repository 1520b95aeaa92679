package endpoint

import (
	"sync/atomic"

	"troupe/transport/serversdk"
)

const (
	// freeBytes is what each connection may hold of messages, whatever the others hold. Nearly all requests are smaller.
	freeBytes = growth
	// freeWritten is the same for what waits to be written: answers and pushes of others never wait for those who do not read.
	freeWritten = 16 << 10
	// heldMax limits what all connections hold together beyond freeBytes, and writtenMax what waits beyond freeWritten.
	heldMax    = 32 << 20
	writtenMax = 256 << 20
	// Of the messages from largeBytes on, largeMax are parsed at a time, because parsing takes many times their size.
	largeBytes = 64 << 10
	largeMax   = 4
)

// memory limits the bytes that all connections hold together. It is safe for concurrent use.
type memory struct {
	held, waiting atomic.Int64
	large         chan struct{}
}

// beyond returns how many of the bytes that wait at a connection count.
func beyond(n int) int { return max(0, n-freeWritten) }

// write counts a frame that waits to be written. It returns false if there are too many.
func (m *memory) write(n int) bool {
	if m.waiting.Add(int64(n)) <= writtenMax {
		return true
	}
	m.written(n)
	return false
}

// written stops counting frames.
func (m *memory) written(n int) { m.waiting.Add(-int64(n)) }

// parse parses a message. A large one waits for others.
func (m *memory) parse(text []byte) (serversdk.Request, *serversdk.Refusal) {
	if len(text) >= largeBytes {
		m.large <- struct{}{}
		defer func() { <-m.large }()
	}
	return serversdk.Parse(text)
}

// hold counts bytes of messages, or stops counting them if n is negative. It returns false if all connections hold too much.
func (c *conn) hold(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := int64(max(0, c.held+n-freeBytes) - max(0, c.held-freeBytes))
	if all := &c.e.memory.held; all.Add(more) > heldMax && more > 0 {
		all.Add(-more)
		return false
	}
	c.held += n
	return true
}

package kcp

import "sync"

const (
	smallBuffer = 2 << 10  // nearly all messages of clients
	largeBuffer = 64 << 10 // the largest that a host takes by default
)

// buffer holds one message while it is handed up.
type buffer struct{ b []byte }

var (
	smallBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, smallBuffer)} }}
	largeBuffers = sync.Pool{New: func() any { return &buffer{make([]byte, largeBuffer)} }}
)

// takeBuffer returns a buffer of at least n bytes. Buffers over largeBuffer are not pooled.
func takeBuffer(n int) *buffer {
	switch {
	case n <= smallBuffer:
		return smallBuffers.Get().(*buffer)
	case n <= largeBuffer:
		return largeBuffers.Get().(*buffer)
	}
	return &buffer{make([]byte, n)}
}

func giveBuffer(b *buffer) {
	switch len(b.b) {
	case smallBuffer:
		smallBuffers.Put(b)
	case largeBuffer:
		largeBuffers.Put(b)
	}
}

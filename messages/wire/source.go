package wire

// Sink takes frames for sending; a connection's write buffer is one. It is used
// by one goroutine at a time.
type Sink interface {
	// Append takes over the content of f, copying what it needs: the caller
	// keeps its reference and may release it afterwards. The frame is always
	// taken; room reports whether another one may follow.
	Append(f *Frame) (room bool)
}

// Source is a queue of frames that a connection drains, such as a player's
// outbox. Drain may be called concurrently with whoever fills the queue, but by
// one drainer at a time.
type Source interface {
	// Drain appends queued frames to sink in order, until the queue is empty or
	// the sink has no more room, and reports whether frames are left.
	Drain(sink Sink) (more bool)
}

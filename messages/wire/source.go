package wire

// Sink takes frames for sending; a connection's write buffer is one. It is used
// by one goroutine at a time.
type Sink interface {
	// Append takes over the content of f, copying what it needs: the caller
	// keeps its reference and may release it afterwards. The frame is always
	// taken; room reports whether another one may follow.
	Append(f *Frame) (room bool)
	// AppendNumbered is Append for a client of the extension: f carries the
	// recipient's own relSeq and ack, each left out when it is 0.
	AppendNumbered(f *Frame, relSeq, ack uint64) (room bool)
	// Mark has the peer asked for an echo of number n, where the transport's pings
	// are ordered with its messages: a pong with n proves that everything appended
	// before has arrived (reliability.md 2.5). It reports whether that is so; false
	// means that nothing was done.
	Mark(n uint64) bool
}

// Source is a queue of frames that a connection drains, such as a player's
// outbox. Drain may be called concurrently with whoever fills the queue, but by
// one drainer at a time.
type Source interface {
	// Drain appends queued frames to sink in order, until the queue is empty or
	// the sink has no more room, and reports whether frames are left.
	Drain(sink Sink) (more bool)
}

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
	// Mark appends a ping with number n as its payload. The peer echoes it, which
	// proves that everything appended before has arrived (reliability.md 2.5). It
	// does nothing and returns false if the transport's pings are not ordered with
	// its messages.
	Mark(n uint64) bool
}

// Source is a queue of frames that a connection drains, such as a player's
// outbox. Drain may run while other goroutines fill the queue, but only once at a
// time.
type Source interface {
	// Drain appends queued frames to sink in order, until the queue is empty or
	// the sink has no more room, and reports whether frames are left.
	Drain(sink Sink) (more bool)
}

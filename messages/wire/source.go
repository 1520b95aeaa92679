package wire

// Sink takes frames for sending, such as a write buffer; one goroutine at a time.
type Sink interface {
	// Append takes over f's content, copying what it needs: the caller keeps
	// its reference. The frame is always taken; room: another may follow.
	Append(f *Frame) (room bool)
	// AppendNumbered is Append with the recipient's own relSeq and ack, each left out when it is 0, for a client of the extension.
	AppendNumbered(f *Frame, relSeq, ack uint64) (room bool)
	// Mark appends a ping with number n as payload: its echo proves that all before has arrived
	// (reliability.md 2.5). It returns false, and does nothing, if pings are not ordered with messages.
	Mark(n uint64) bool
}

// Source is a queue of frames that a connection drains. Drain may run while others fill it, once at a time.
type Source interface {
	// Drain appends frames to sink in order until none is left or it has no more room, and reports whether any are left.
	Drain(sink Sink) (more bool)
}

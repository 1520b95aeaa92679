package wire

// Sink accepts frames for sending; an example is a write buffer. Only one goroutine may use it at a time.
type Sink interface {
	// Append accepts f and copies what it needs. The caller keeps its reference. The frame is always accepted. room
	// says whether another frame may follow.
	Append(f *Frame) (room bool)
	// AppendNumbered is like Append, but adds the recipient's relSeq and ack. Each is omitted if it is 0. It is for
	// clients that use the extension.
	AppendNumbered(f *Frame, relSeq, ack uint64) (room bool)
	// Mark appends a ping whose payload is the number n. Its echo proves that everything before it has arrived
	// (reliability.md 2.5). If pings are not ordered with messages, Mark does nothing and returns false.
	Mark(n uint64) bool
}

// Source is a queue of frames that a connection drains. Drain may run while others add frames, but only one Drain may
// run at a time.
type Source interface {
	// Drain appends frames to sink, in order, until none is left or sink has no more room. It reports whether frames
	// are left.
	Drain(sink Sink) (more bool)
}

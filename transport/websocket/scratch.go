package websocket

import (
	"strconv"
	"sync"

	"troupe/messages/wire"
	"troupe/transport/internal/rfc6455"
)

const (
	// scratchBytes is the size of one write, not counting one large frame at the end. Larger writes have no measurable benefit.
	scratchBytes = 32 << 10

	// roomMin is the free space below which the scratch counts as full. Frames with client payloads fit
	// into it; larger frames use another buffer.
	roomMin = wire.PayloadMax + 96
)

// scratch is the buffer of one write. It contains one or more frames. Only one goroutine uses it at a time.
type scratch struct {
	b    []byte  // the frames
	off  int     // how many bytes of b are written
	home []byte  // its own array of scratchBytes
	big  *buffer // used instead of home if a large frame does not fit
	last bool    // b ends with the close frame: nothing may follow
	ping bool    // b contains a ping

	attempt func(fd uintptr) // tries to write b once; see rawio_linux.go
	n       int              // bytes that the last attempt wrote
	err     error
}

var scratches = sync.Pool{New: func() any {
	s := &scratch{home: make([]byte, 0, scratchBytes)}
	s.b = s.home
	s.attempt = s.writeOnce
	return s
}}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

func giveScratch(s *scratch) {
	s.reset()
	scratches.Put(s)
}

func (s *scratch) reset() {
	giveBuffer(s.big)
	s.big = nil
	s.b, s.off, s.last, s.ping, s.n, s.err = s.home[:0], 0, false, false, 0, nil
}

// Append implements wire.Sink.
func (s *scratch) Append(f *wire.Frame) (room bool) {
	n := f.Len()
	s.reserve(rfc6455.HeaderSizeOf(n) + n)
	s.b = f.AppendReliable(rfc6455.AppendHeader(s.b, rfc6455.Binary, n))
	return s.room()
}

// AppendNumbered implements wire.Sink.
func (s *scratch) AppendNumbered(f *wire.Frame, relSeq, ack uint64) (room bool) {
	n := f.NumberedLen(relSeq, ack)
	s.reserve(rfc6455.HeaderSizeOf(n) + n)
	s.b = f.AppendNumbered(rfc6455.AppendHeader(s.b, rfc6455.Binary, n), relSeq, ack)
	return s.room()
}

// Mark implements wire.Sink. It appends a ping with the number as text, because the C# library converts payloads to UTF-8.
func (s *scratch) Mark(n uint64) bool {
	var text [20]byte
	s.control(rfc6455.Ping, strconv.AppendUint(text[:0], n, 10)) // D-4
	return true
}

func (s *scratch) control(op rfc6455.Opcode, payload []byte) {
	s.ping = s.ping || op == rfc6455.Ping
	s.reserve(2 + len(payload))
	s.b = append(rfc6455.AppendHeader(s.b, op, len(payload)), payload...)
}

func (s *scratch) room() bool { return scratchBytes-len(s.b) >= roomMin }

// reserve makes room for n more bytes. If necessary, it moves to a larger buffer.
func (s *scratch) reserve(n int) {
	if cap(s.b)-len(s.b) >= n {
		return
	}
	big := takeBuffer(len(s.b) + n)
	s.b = append(big.b, s.b...)
	giveBuffer(s.big)
	s.big = big
}

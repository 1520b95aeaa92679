package kcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"troupe/messages"
)

// StreamHandler receives the events of a Stream. OnMessage and OnClosed are called one at a time.
type StreamHandler interface {
	// OnMessage handles one reliable message, which is valid only during the call. While it blocks, the
	// host's sending is slowed down (back-pressure).
	OnMessage(message []byte)
	// OnDatagram handles one datagram, which is valid only during the call. The socket's reader calls it, so it must not block.
	OnDatagram(datagram []byte)
	// OnClosed is called once, after the last OnMessage.
	OnClosed(end StreamEnd)
}

// StreamEnd says how a Stream ended.
type StreamEnd struct {
	Code   uint16 // the host's close code; 0 if it sent none
	Reason string
	Err    error // nil after the host's bye, and after Close
}

// closeMax is the longest time that Close may take, for queued messages and the bye.
const closeMax = streamLinger + byeMax + 100*time.Millisecond

// streamLinger is how long a closing Stream keeps sending queued messages.
const streamLinger = time.Second

// Stream is the client's side of one connection. All methods are safe for concurrent use.
type Stream struct {
	e       *engine
	handler StreamHandler
	done    chan struct{} // closed when the end begins
	closed  chan struct{} // closed after OnClosed

	// guarded by the engine's lock
	queue    [][]byte // messages that wait for room in KCP
	queueMax int
	room     chan struct{} // closed when there is room; created by a waiting Send
	byUs     bool          // Close was called before the end began
}

func newStream(carrier Carrier, o DialOptions, h StreamHandler) *Stream {
	o = o.withDefaults()
	s := &Stream{handler: h, queueMax: o.QueueMax, done: make(chan struct{}), closed: make(chan struct{})}
	s.e = newEngine(carrier, settings{
		count:        o.DTLS.Counters,
		writeTimeout: o.WriteTimeout, closeLinger: streamLinger, silenceMax: o.SilenceMax, stallMax: o.StallMax,
		receiveWindow: windowSegments, messageMax: MessageMax,
		workers: &workerPool{idleMax: 1}, clock: newClock(),
	})
	s.e.owner = s
	s.e.lock()
	s.e.leave() // arms the timer for a host that never answers
	return s
}

// Send queues a copy of one reliable message. It waits while the queue is full. It returns an error for an empty message, for one
// over MessageMax, and after the end (net.ErrClosed). A host may have a lower limit; it closes the stream if a message exceeds it.
func (s *Stream) Send(ctx context.Context, message []byte) error {
	if len(message) == 0 || len(message) > MessageMax {
		return fmt.Errorf("kcp: a message of %d bytes is not within 1 and %d", len(message), MessageMax)
	}
	for {
		room, err := s.offer(message)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-s.done:
		case <-ctx.Done():
			return fmt.Errorf("kcp: send: %w", context.Cause(ctx))
		}
	}
}

// offer queues the message. If there is no room, it returns the channel to wait on.
func (s *Stream) offer(message []byte) (room chan struct{}, err error) {
	s.e.lock()
	defer s.e.leave()
	switch {
	case s.e.phase != phaseOpen:
		return nil, fmt.Errorf("kcp: send: %w", net.ErrClosed)
	case len(s.queue) == 0 && s.e.room():
		s.e.put(message)
		s.e.flushNew()
		return nil, nil
	case len(s.queue) < s.queueMax:
		s.queue = append(s.queue, append([]byte(nil), message...))
		s.e.sending.backlog = true
		return nil, nil
	}
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room, nil
}

// refill implements owner.
func (s *Stream) refill() (more bool) {
	taken := 0
	for taken < len(s.queue) && s.e.room() {
		s.e.put(s.queue[taken])
		taken++
	}
	if taken > 0 && s.room != nil {
		close(s.room)
		s.room = nil
	}
	s.queue = slices.Delete(s.queue, 0, taken)
	return len(s.queue) > 0
}

var errNotSent = errors.New("kcp: the datagram was not sent")

// SendDatagram sends one unreliable datagram of at most 1399 bytes.
func (s *Stream) SendDatagram(b []byte) error {
	if len(b) > datagramMax-1 {
		return fmt.Errorf("kcp: a datagram of %d bytes is over %d", len(b), datagramMax-1)
	}
	select {
	case <-s.done:
		return fmt.Errorf("kcp: send: %w", net.ErrClosed)
	default:
	}
	d := datagrams.Get().(*datagram)
	defer datagrams.Put(d)
	d[0] = byte(frameFast)
	if !s.e.write(d[:1+copy(d[1:], b)]) {
		return errNotSent
	}
	return nil
}

// Close sends the queued messages and a bye with the given code (1000 is a leave). It drops messages that arrive meanwhile.
// It returns after OnClosed, at the latest after about two seconds. A Close called by the handler itself takes that long.
func (s *Stream) Close(code uint16) {
	s.e.lock()
	if s.e.phase == phaseOpen {
		s.byUs = true
	}
	s.e.startClose(messages.CloseReason(code), nil, true)
	s.e.leave()
	select {
	case <-s.closed:
	case <-time.After(closeMax):
	}
}

// Abort ends the stream without a bye. OnClosed is still called.
func (s *Stream) Abort() { s.e.abort(fmt.Errorf("kcp: aborted: %w", net.ErrClosed)) }

// ending implements owner.
func (s *Stream) ending() { close(s.done) }

// onMessage implements owner.
func (s *Stream) onMessage(message []byte) { s.handler.OnMessage(message) }

// onAlive implements owner. A client does not use it.
func (s *Stream) onAlive([]byte) {}

// onDatagram implements owner.
func (s *Stream) onDatagram(b []byte) { s.handler.OnDatagram(b) }

// onClosed implements owner.
func (s *Stream) onClosed(how ended) {
	defer close(s.closed)
	s.e.lock()
	s.queue = nil
	byUs := s.byUs
	s.e.leave()
	end := StreamEnd{Code: how.code, Reason: how.text, Err: how.err}
	if byUs || how.peerSaid {
		end.Err = nil
	}
	s.handler.OnClosed(end)
}

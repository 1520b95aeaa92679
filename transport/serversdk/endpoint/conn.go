package endpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/serversdk"
)

const (
	readBuffer = 512
	// growth is the least number of bytes by which a message grows as it arrives: its length alone allocates nothing.
	growth = 4 << 10
	// writeTime limits a write. A process that takes longer is gone, or hangs.
	writeTime = 10 * time.Second
	// pongTime limits the answer to the ping that follows a push (SS-203).
	pongTime = 10 * time.Second
	// writeBytesMax limits the bytes that wait to be written. The largest push has about 2 MB. A push is counted by its texts
	// until it is encoded.
	writeBytesMax = 4 << 20
	pingSize      = 4 // of the payload of the ping that follows a push: its number
	// A client may take leaveTime to close the connection after TerminateServerProcess, or after it was superseded if it is
	// in Go. Others get a close frame after supersedeTime, and then have closeTime.
	leaveTime     = 30 * time.Second
	goTime        = 70 * time.Second
	supersedeTime = 10 * time.Second
	closeTime     = 5 * time.Second
	// queueMax limits the requests of a connection that wait for an earlier one.
	queueMax = 64
	// Messages are counted in a bucket of messagesBurst that fills with messagesRate per second. Above it, requests are
	// answered with 429; after excessMax of those in a row the connection is closed.
	messagesRate  = 100
	messagesBurst = 500
	excessMax     = 1000
	framesMax     = 1024 // frames of a message
)

const closePolicy messages.CloseReason = 1008 // messages that come much too fast

// conn is one connection of a process. It implements messages.ProcessLink.
type conn struct {
	e      *Endpoint
	id     messages.ProcessID
	golang bool
	peer   *peer
	in     *bufio.Reader

	// Used by the reader only.
	allowance float64
	counted   time.Time
	excess    int

	mu      sync.Mutex
	nc      net.Conn // nil until the handshake is accepted
	ready   bool     // frames may be written
	ended   bool
	out     []outgoing
	bytes   int // their size
	writing bool
	bye     bool // a close frame was queued: nothing follows
	last    bool // the connection ends once everything is written
	beside  int  // slow requests that are being answered beside the queue
	queue   []serversdk.Request
	busy    bool // a request of the queue is being answered
	timers  []*time.Timer
	waiting *time.Timer // for the pong of the next push; nil if none is missing
	pushed  uint32      // number of the last push
	arrived uint32      // number of the last push whose pong has come
}

// outgoing is a frame that waits to be written, or a push that is encoded then.
type outgoing struct {
	frame []byte
	push  messages.ProcessPush
	n     uint32 // number of the push
	size  int
}

// encode returns what is written.
func (o *outgoing) encode() []byte {
	if o.push == nil {
		return o.frame
	}
	ping := rfc6455.AppendHeader(frameOf(pushed(o.push)), rfc6455.Ping, pingSize)
	return binary.BigEndian.AppendUint32(ping, o.n)
}

// Push implements messages.ProcessLink. The goroutine that writes encodes the message.
func (c *conn) Push(p messages.ProcessPush, n uint32) {
	if r, ok := p.(messages.PushRefresh); ok {
		c.e.background(func() { c.refresh(r.Host) })
		return
	}
	c.mu.Lock()
	if c.pushed = n; !c.ended && c.waiting == nil {
		c.waiting = time.AfterFunc(pongTime, c.drop) // the push may be lost then, and the process connects again
	}
	c.mu.Unlock()
	c.enqueue(outgoing{push: p, n: n, size: sizeOf(p)})
}

// onPong handles a pong. That of a push says that it has arrived, and those before it. Others mean nothing.
func (c *conn) onPong(payload []byte) {
	if len(payload) != pingSize {
		return
	}
	n := binary.BigEndian.Uint32(payload)
	c.mu.Lock()
	expected := c.waiting != nil && c.arrived < n && n <= c.pushed
	if expected {
		c.arrived = n
		if c.waiting.Stop(); n == c.pushed {
			c.waiting = nil
		} else {
			c.waiting.Reset(pongTime)
		}
	}
	c.mu.Unlock()
	if expected {
		c.call(messages.PushArrived{N: n}, func(any, error) {})
	}
}

// End implements messages.ProcessLink.
func (c *conn) End(drop bool) {
	if drop {
		c.drop()
	} else {
		c.after(leaveTime, c.drop)
	}
}

// Supersede implements messages.ProcessLink, by the rules of server-sdk.md 12.2: a client in Go would tear down the new
// connection if the old one got a close frame.
func (c *conn) Supersede() {
	if c.e.crowded(c.peer) {
		c.drop()
		return
	}
	if c.golang {
		c.after(goTime, c.drop)
		return
	}
	c.after(supersedeTime, func() { c.close(messages.CloseNormal) })
}

// after calls f later, unless the connection has ended by then.
func (c *conn) after(d time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.timers = append(c.timers, time.AfterFunc(d, f))
	}
}

// start begins to read and write.
func (c *conn) start() {
	c.mu.Lock()
	c.ready = true
	c.write()
	c.mu.Unlock()
	if !c.e.background(c.read) {
		c.gone()
	}
}

// background runs f on a goroutine, for which Close waits. It returns false if the Endpoint is closing.
func (e *Endpoint) background(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return false
	}
	e.work.Go(f)
	return true
}

// drop ends the connection at once. It does not block: what closes the connection is its reader, which this wakes, because
// TLS may take seconds to say goodbye.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.out, c.bytes = nil, 0
	for _, t := range append(c.timers, c.waiting) {
		if t != nil {
			t.Stop()
		}
	}
	c.timers, c.waiting = nil, nil
	if c.nc != nil {
		_ = c.nc.SetDeadline(time.Unix(1, 0))
	}
}

// close sends a close frame. The client has closeTime to answer.
func (c *conn) close(reason messages.CloseReason) {
	frame := rfc6455.AppendHeader(nil, rfc6455.Close, 2)
	c.send(binary.BigEndian.AppendUint16(frame, uint16(reason)))
	c.mu.Lock()
	c.bye = true
	c.mu.Unlock()
	c.after(closeTime, c.drop)
}

// gone tells everybody that the connection has ended, and closes it. Its reader calls it, or nobody reads.
func (c *conn) gone() {
	c.drop()
	c.e.forget(c)
	c.call(messages.CloseProcess{}, func(any, error) {})
	c.mu.Lock()
	nc := c.nc
	c.mu.Unlock()
	if nc != nil {
		_ = nc.Close()
	}
}

// frameOf returns the frame of a text message.
func frameOf(text []byte) []byte {
	return append(rfc6455.AppendHeader(make([]byte, 0, rfc6455.HeaderMax+len(text)+2), rfc6455.Text, len(text)), text...)
}

func (c *conn) send(frame []byte) { c.enqueue(outgoing{frame: frame, size: len(frame)}) }

// enqueue queues what is to be written. A connection whose queue is full is dropped.
func (c *conn) enqueue(o outgoing) {
	c.mu.Lock()
	if c.ended || c.bye {
		c.mu.Unlock()
		return
	}
	if c.bytes+o.size > writeBytesMax {
		c.mu.Unlock()
		c.e.o.Log.Warn().Str("process", c.id.String()).Msg("server process does not read: its connection is dropped")
		c.drop()
		return
	}
	c.out = append(c.out, o)
	c.bytes += o.size
	c.write()
	c.mu.Unlock()
}

// write starts the writer if there is something to write. The caller holds mu.
func (c *conn) write() {
	if c.writing || !c.ready || c.ended || len(c.out) == 0 {
		return
	}
	c.writing = true
	go c.writeAll()
}

// writeAll writes until the queue is empty. It ends with the connection, whose read ends then, too.
func (c *conn) writeAll() {
	for {
		c.mu.Lock()
		if len(c.out) == 0 || c.ended {
			c.out, c.writing = nil, false
			last := c.last
			c.mu.Unlock()
			if last {
				c.drop()
			}
			return
		}
		next := c.out[0]
		c.out[0] = outgoing{}
		c.out = c.out[1:]
		_ = c.nc.SetWriteDeadline(time.Now().Add(writeTime)) // with mu, because drop sets it, too
		c.mu.Unlock()
		_, err := c.nc.Write(next.encode())
		c.mu.Lock()
		c.bytes = max(0, c.bytes-next.size)
		c.mu.Unlock()
		if err != nil {
			c.drop()
		}
	}
}

// read handles what arrives until the connection ends.
func (c *conn) read() {
	defer c.gone()
	var message []byte
	frames, open := 0, false
	for {
		h, err := c.header()
		if err == nil {
			err = c.check(&h, open, frames, len(message))
		}
		var breach *rfc6455.Violation
		if errors.As(err, &breach) {
			c.e.o.Log.Info().Str("process", c.id.String()).Int("code", int(breach.Reason)).Str("reason", breach.Text).Msg("server process closed")
			c.close(breach.Reason)
			c.lingers()
			return
		}
		if err != nil {
			return
		}
		if h.Op.Control() {
			var payload [rfc6455.ControlMax]byte
			if !c.payload(payload[:h.Length], h.Mask) || !c.control(h.Op, payload[:h.Length]) {
				c.lingers()
				return
			}
			continue
		}
		if message, err = c.grow(message, &h); err != nil {
			return
		}
		frames++
		if open = !h.Fin; open {
			continue
		}
		if !c.onMessage(message) {
			c.lingers()
			return
		}
		message, frames = nil, 0
	}
}

// lingers reads until the peer has closed the connection, so that the close frame is not lost with a reset.
func (c *conn) lingers() {
	c.mu.Lock()
	if !c.ended {
		_ = c.nc.SetReadDeadline(time.Now().Add(closeTime))
	}
	c.mu.Unlock()
	_, _ = io.CopyN(io.Discard, c.in, 8<<20)
}

// header reads the header of a frame.
func (c *conn) header() (h rfc6455.Header, err error) {
	b, err := c.in.Peek(2)
	if err != nil {
		return h, err
	}
	size := rfc6455.HeaderSize(b[1])
	if b, err = c.in.Peek(size); err != nil {
		if b, e := c.in.Peek(2); e == nil {
			if _, breach := rfc6455.ParseHeader(b, true); breach != nil {
				return h, breach
			}
		}
		return h, err
	}
	h, breach := rfc6455.ParseHeader(b, true)
	if breach != nil {
		return h, breach
	}
	_, err = c.in.Discard(h.Size)
	return h, err
}

var (
	errBinary    = rfc6455.Breach(messages.CloseUnsupported, "binary message")
	errTooLarge  = rfc6455.Breach(messages.CloseMessageTooBig, "message over the limit")
	errNoMessage = rfc6455.Breach(messages.CloseProtocolError, "continuation of nothing")
	errInMessage = rfc6455.Breach(messages.CloseProtocolError, "new message inside a fragmented one")
)

// check checks a header against the message so far.
func (c *conn) check(h *rfc6455.Header, open bool, frames, size int) error {
	switch {
	case h.Op.Control():
		return nil
	case h.Op == rfc6455.Binary:
		return errBinary
	case h.Op == rfc6455.Continuation && !open:
		return errNoMessage
	case h.Op != rfc6455.Continuation && open:
		return errInMessage
	case h.Length > serversdk.FrameMax || size+int(h.Length) > serversdk.FrameMax || frames >= framesMax:
		return errTooLarge
	}
	return nil
}

// grow reads the payload of a frame and appends it to the message, in steps.
func (c *conn) grow(message []byte, h *rfc6455.Header) ([]byte, error) {
	mask, left := h.Mask, int(h.Length)
	for left > 0 {
		n := min(left, max(growth, len(message)))
		at := len(message)
		message = append(message, make([]byte, n)...)
		if _, err := io.ReadFull(c.in, message[at:]); err != nil {
			return nil, err
		}
		mask = rfc6455.Mask(message[at:], mask)
		left -= n
	}
	return message, nil
}

func (c *conn) payload(b []byte, mask uint32) bool {
	_, err := io.ReadFull(c.in, b)
	rfc6455.Mask(b, mask)
	return err == nil
}

// control handles a control frame. It returns false if the connection has ended.
func (c *conn) control(op rfc6455.Opcode, payload []byte) bool {
	switch op {
	case rfc6455.Ping:
		if !c.allowed() && c.excess > excessMax {
			return false
		}
		c.send(append(rfc6455.AppendHeader(nil, rfc6455.Pong, len(payload)), payload...))
	case rfc6455.Pong:
		c.onPong(payload)
	case rfc6455.Close: // the answer is the same code (RFC 6455 section 5.5.1)
		c.send(append(rfc6455.AppendHeader(nil, rfc6455.Close, min(2, len(payload))), payload[:min(2, len(payload))]...))
		c.mu.Lock()
		c.last = true
		writing := c.writing
		c.mu.Unlock()
		if !writing {
			c.drop()
		}
		return false
	}
	return true
}

// allowed counts a message. It returns false if messages come too fast.
func (c *conn) allowed() bool {
	now := time.Now()
	if c.counted.IsZero() {
		c.allowance = messagesBurst
	} else {
		c.allowance = min(messagesBurst, c.allowance+messagesRate*now.Sub(c.counted).Seconds())
	}
	if c.counted = now; c.allowance < 1 {
		c.excess++
		return false
	}
	c.allowance--
	c.excess = 0
	return true
}

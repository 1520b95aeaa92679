package endpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/serversdk"
)

const (
	readBuffer = 512
	// growth is the least number of bytes by which a message grows as it arrives: its length alone allocates nothing.
	growth = 4 << 10
	// messageTime limits the time from the first byte of a message to its last. SDKs give up after 20 seconds.
	messageTime = 20 * time.Second
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

const (
	closePolicy   messages.CloseReason = 1008 // messages that come much too fast or too slowly
	closeTryLater messages.CloseReason = 1013 // the messages of all connections take too much memory
)

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
	timed     bool // a message has begun and has a deadline

	mu      sync.Mutex
	nc      net.Conn // nil until the handshake is accepted
	ready   bool     // frames may be written
	ended   bool
	ends    bool // it ends once everything is answered and written; requests that arrive are not read
	running int  // requests that will be answered on this connection
	held    int  // bytes of the message that arrives, and of requests that wait or are being answered
	waits   int  // those of the requests alone
	out     []outgoing
	bytes   int // their size
	writing bool
	bye     bool // a close frame was queued: nothing follows
	last    bool // the connection ends once everything is written
	beside  int  // slow requests that are being answered beside the queue
	queue   []request
	busy    bool // a request of the queue is being answered
	timers  []*time.Timer
	waiting *time.Timer // for the pong of the next push; nil if none is missing
	probing *time.Timer // for the pong of probe; nil if none is missing
	pushed  uint32      // number of the last push
	written uint32      // number of the last push that is written
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
	defer c.mu.Unlock()
	c.pushed = n
	c.enqueue(outgoing{push: p, n: n, size: sizeOf(p)})
}

// await begins the time for the pong of a push that is written. Without it the push may be lost, and the process connects again.
// The caller holds mu.
func (c *conn) await(n uint32) {
	if c.written = n; !c.ended && c.arrived < n && c.waiting == nil {
		c.waiting = time.AfterFunc(pongTime, c.deaf)
	}
}

// onPong handles a pong. That of a push says that it has arrived, and those before it. Others mean nothing.
func (c *conn) onPong(payload []byte) {
	switch len(payload) {
	case pingSize:
	case probeSize:
		c.resume()
		return
	default:
		return
	}
	n := binary.BigEndian.Uint32(payload)
	c.mu.Lock()
	expected := !c.ended && c.arrived < n && n <= c.pushed
	if expected {
		if c.arrived = n; c.waiting != nil {
			c.waiting.Stop()
			c.waiting = nil
		}
		c.await(c.written)
	}
	c.mu.Unlock()
	if expected {
		c.call(messages.PushArrived{N: n}, func(any, error) {})
	}
}

// deaf drops the connection of a process that does not read, or answers no ping.
func (c *conn) deaf() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutDeaf()
}

// cutDeaf is deaf for a caller who holds mu.
func (c *conn) cutDeaf() {
	if c.ended {
		return
	}
	c.e.o.Counters.ServersClosed.Add(counters.ServerClosedDeaf, 1)
	c.e.o.Log.Warn().Str("process", c.id.String()).Msg("server process does not read, or answers no ping: its connection is dropped")
	c.cut()
}

// End implements messages.ProcessLink.
func (c *conn) End(drop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drop {
		c.cut()
	} else {
		c.after(leaveTime, c.cut)
	}
}

// Supersede implements messages.ProcessLink, by the rules of server-sdk.md 12.2: a client in Go would tear down the new
// connection if the old one got a close frame.
func (c *conn) Supersede() {
	if c.e.crowded(c.peer) {
		c.drop()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.probing != nil: // its pong, or the lack of it, decides
	case c.golang:
		c.after(goTime, c.cut)
	default:
		c.after(supersedeTime, func() { c.close(messages.CloseNormal) })
	}
}

// after calls f with mu, unless the connection has ended or stays by then. The caller holds mu.
func (c *conn) after(d time.Duration, f func()) {
	if c.ended {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if slices.Contains(c.timers, t) {
			f()
		}
	})
	c.timers = append(c.timers, t)
}

// start begins to read and write.
func (c *conn) start(q messages.OpenProcess) {
	c.e.accept(c, q)
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
	c.cut()
}

// cut is drop for a caller who holds mu.
func (c *conn) cut() {
	c.ended = true
	c.e.memory.written(beyond(c.bytes))
	c.out, c.bytes = nil, 0
	for _, t := range append(c.timers, c.waiting, c.probing) {
		if t != nil {
			t.Stop()
		}
	}
	c.timers, c.waiting, c.probing = nil, nil, nil
	if c.nc != nil {
		_ = c.nc.SetDeadline(time.Unix(1, 0))
	}
}

// close sends a close frame. The client has closeTime to answer. The caller holds mu.
func (c *conn) close(reason messages.CloseReason) {
	frame := binary.BigEndian.AppendUint16(rfc6455.AppendHeader(nil, rfc6455.Close, 2), uint16(reason))
	c.enqueue(outgoing{frame: frame, size: len(frame)})
	c.bye = true
	c.after(closeTime, c.cut)
}

// gone tells everybody that the connection has ended, and closes it. Its reader calls it, or nobody reads. The connection that
// it superseded may be the one that the process uses: it may have given up this one's handshake, which was accepted too late.
func (c *conn) gone() {
	c.drop()
	former := c.e.forget(c)
	c.call(messages.CloseProcess{}, func(over any, _ error) {
		if over == true {
			c.e.forgetAnswers(c)
		}
	})
	if former != nil {
		former.probe()
	}
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

func (c *conn) send(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enqueue(outgoing{frame: frame, size: len(frame)})
}

// enqueue queues what is to be written. A connection whose queue is full is dropped. The caller holds mu.
func (c *conn) enqueue(o outgoing) {
	switch {
	case c.ended || c.bye:
	case c.bytes+o.size > writeBytesMax || !c.e.memory.write(beyond(c.bytes+o.size)-beyond(c.bytes)):
		c.cutDeaf()
	default:
		c.out = append(c.out, o)
		c.bytes += o.size
		c.write()
	}
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
			last := c.last || c.idle()
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
		if !c.ended {
			c.e.memory.written(beyond(c.bytes) - beyond(c.bytes-next.size))
			c.bytes -= next.size
		}
		if next.push != nil {
			c.await(next.n)
		}
		c.mu.Unlock()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.deaf()
		} else if err != nil {
			c.drop()
		}
	}
}

// read handles what arrives until the connection ends.
func (c *conn) read() {
	defer c.gone()
	var message []byte
	defer func() { c.hold(-len(message)) }()
	frames, open := 0, false
	for {
		h, err := c.header()
		if err == nil {
			err = c.check(&h, open, frames, len(message))
		}
		if err == nil && h.Op.Control() {
			var payload [rfc6455.ControlMax]byte
			if err = c.payload(payload[:h.Length], h.Mask); err == nil {
				if !c.control(h.Op, payload[:h.Length]) {
					c.lingers()
					return
				}
				c.timeOut(open)
				continue
			}
		}
		if err == nil {
			message, err = c.grow(message, &h)
		}
		if err != nil {
			if c.refused(err) {
				c.lingers()
			}
			return
		}
		frames++
		if open = !h.Fin; open {
			continue
		}
		c.timeOut(false)
		kept, on := c.onMessage(message)
		if !kept {
			c.hold(-len(message))
		}
		message, frames = nil, 0
		if !on {
			c.lingers()
			return
		}
	}
}

// timeOut sets the deadline of a message that begins, or clears it.
func (c *conn) timeOut(on bool) {
	if on == c.timed {
		return
	}
	c.timed = on
	deadline := time.Time{}
	if on {
		deadline = time.Now().Add(messageTime)
	}
	c.mu.Lock()
	if !c.ended {
		_ = c.nc.SetReadDeadline(deadline)
	}
	c.mu.Unlock()
}

// refused closes the connection because of what came on it. It returns false if the connection has ended by itself.
func (c *conn) refused(err error) bool {
	breach, why := new(rfc6455.Violation), counters.ServerClosedMalformed
	switch {
	case c.hasEnded(): // what woke the reader is no fault of the process
		return false
	case errors.Is(err, os.ErrDeadlineExceeded):
		breach, why = errTooSlow, counters.ServerClosedTooSlow
	case !errors.As(err, &breach):
		return false
	case breach == errTooLarge:
		why = counters.ServerClosedTooLarge
	case breach == errMemory:
		why = counters.ServerClosedMemory
	case breach == errTooFast:
		why = counters.ServerClosedTooFast
	}
	c.e.o.Counters.ServersClosed.Add(why, 1)
	c.e.o.Log.Info().Str("process", c.id.String()).Int("code", int(breach.Reason)).Str("reason", breach.Text).Msg("server process closed")
	c.mu.Lock()
	c.close(breach.Reason)
	c.mu.Unlock()
	return true
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

// header reads the header of a frame. With its first byte, the time for the message begins.
func (c *conn) header() (h rfc6455.Header, err error) {
	if _, err := c.in.Peek(1); err != nil {
		return h, err
	}
	c.timeOut(true)
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
	errTooSlow   = rfc6455.Breach(closePolicy, "message not complete in time")
	errTooFast   = rfc6455.Breach(closePolicy, "messages much too fast")
	errMemory    = rfc6455.Breach(closeTryLater, "the messages of all processes take too much memory")
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
		if !c.hold(n) {
			return message, errMemory
		}
		at := len(message)
		message = append(message, make([]byte, n)...)
		if _, err := io.ReadFull(c.in, message[at:]); err != nil {
			return message, err
		}
		mask = rfc6455.Mask(message[at:], mask)
		left -= n
	}
	return message, nil
}

func (c *conn) payload(b []byte, mask uint32) error {
	_, err := io.ReadFull(c.in, b)
	rfc6455.Mask(b, mask)
	return err
}

// control handles a control frame. It returns false if the connection has ended.
func (c *conn) control(op rfc6455.Opcode, payload []byte) bool {
	if op != rfc6455.Close && !c.allowed() && c.excess > excessMax {
		return !c.refused(errTooFast)
	}
	switch op {
	case rfc6455.Ping:
		c.send(append(rfc6455.AppendHeader(nil, rfc6455.Pong, len(payload)), payload...))
	case rfc6455.Pong:
		c.onPong(payload)
	case rfc6455.Close: // the answer is the same code (RFC 6455 section 5.5.1)
		frame := append(rfc6455.AppendHeader(nil, rfc6455.Close, min(2, len(payload))), payload[:min(2, len(payload))]...)
		c.mu.Lock()
		c.enqueue(outgoing{frame: frame, size: len(frame)})
		if c.bye, c.last = true, true; !c.writing {
			c.cut()
		}
		c.mu.Unlock()
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

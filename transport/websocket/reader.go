package websocket

import (
	"errors"

	"troupe/transport"
	"troupe/transport/internal/rfc6455"
)

// readBufferBytes is the size of the read buffer. It fits nearly all messages of clients. A waiting
// connection has no read buffer, except under TLS.
const readBufferBytes = 512

// inbound is the state of the read side. Only the reader goroutine uses it.
type inbound struct {
	parser   parser
	buf      []byte // buf[from:to] is read but not parsed yet
	from, to int
	msg      *buffer  // the message being assembled; nil if there is none
	pong     bool     // a pong is queued but not flushed
	one      bool     // make read return errReadOn after the next message
	raw      *rawRead // created by the first read on a raw handle

	handler transport.Handler // set before the first read
}

// read handles input until an error or the peer's close frame. After a close frame it returns the frame's
// code. The error may be a *rfc6455.Violation.
func (c *Conn) read(h transport.Handler) (code uint16, err error) {
	in := &c.in
	for {
		in.parser.bytesMax = c.messageMax()
		ev, broken := in.parser.next(in.buf[in.from:in.to], len(in.buf))
		if broken != nil {
			return 0, broken
		}
		in.from += ev.used
		switch ev.kind {
		case needMore:
			err = c.fill()
		case gotMessage:
			if c.deliver(h, ev.payload); in.one {
				err = errReadOn
			}
		case gotPart:
			err = c.assemble(h, ev)
		case gotControl:
			if ev.op == rfc6455.Close {
				code, broken := parseClose(ev.payload)
				if broken != nil {
					return 0, broken
				}
				return code, nil
			}
			c.onControl(h, ev)
		}
		if err != nil {
			return 0, err
		}
	}
}

func (c *Conn) messageMax() int {
	if c.loggedIn.Load() {
		return messageBytesMax
	}
	return pendingMessageBytesMax
}

// fill reads once and appends to the bytes that are not parsed yet. Before that it flushes one
// pong, which answers all pings of the buffer.
func (c *Conn) fill() error {
	in := &c.in
	c.flushPong()
	switch {
	case in.from == in.to:
		in.from, in.to = 0, 0
		return c.refill()
	case in.to == len(in.buf):
		in.to = copy(in.buf, in.buf[in.from:in.to])
		in.from = 0
	}
	_, n, err := c.readSocket(in.buf[in.to:])
	in.to += n
	if n > 0 {
		return nil
	}
	return err
}

// refill reads once after all input is parsed. With a raw handle the connection has no buffer while it waits.
func (c *Conn) refill() error {
	in := &c.in
	giveSmall(in.buf) // ignores a larger buffer, which held the bytes that came with the request
	in.buf = nil
	if c.raw == nil {
		in.buf = takeSmall()
	}
	lent, n, err := c.readSocket(in.buf)
	if in.buf == nil {
		in.buf = lent
	}
	in.to = n
	if n > 0 {
		return nil
	}
	return err
}

func (c *Conn) flushPong() {
	if c.in.pong {
		c.in.pong = false
		c.Flush()
	}
}

func (c *Conn) onControl(h transport.Handler, ev event) {
	if ev.op == rfc6455.Pong {
		c.answered()
		if !c.muted.Load() {
			h.OnAlive(ev.payload)
		}
		return
	}
	c.queueControl(&c.out.pong, ev.payload)
	c.in.pong = true
	if !c.muted.Load() {
		h.OnAlive(nil)
	}
}

func (c *Conn) deliver(h transport.Handler, payload []byte) {
	if !c.muted.Load() {
		h.OnUnit(payload)
	}
}

// assemble collects a message that arrives in parts, and delivers it when it is complete.
func (c *Conn) assemble(h transport.Handler, ev event) error {
	in := &c.in
	if in.msg == nil {
		in.msg = takeBuffer(bufferClasses[0])
	}
	in.msg = growBuffer(in.msg, len(in.msg.b)+len(ev.payload))
	in.msg.b = append(in.msg.b, ev.payload...)
	last := ev.last
	for in.from == in.to && in.parser.left > 0 {
		var err error
		if last, err = c.readBody(); err != nil {
			return err
		}
		if !last && !c.muted.Load() {
			h.OnAlive(nil)
		}
	}
	if !last {
		return nil
	}
	c.deliver(h, in.msg.b)
	giveBuffer(in.msg)
	in.msg = nil
	return nil
}

// readBody reads once, directly into the message, up to the end of the frame. The buffer grows with the bytes that have
// arrived, not with the length that the frame claims.
func (c *Conn) readBody() (last bool, err error) {
	in := &c.in
	c.flushPong()
	have := len(in.msg.b)
	if have == cap(in.msg.b) {
		in.msg = growBuffer(in.msg, have+1)
	}
	_, n, err := c.readSocket(in.msg.b[have:min(cap(in.msg.b), have+in.parser.left)])
	if n == 0 {
		return false, err
	}
	in.msg.b = in.msg.b[:have+n]
	return in.parser.body(in.msg.b[have:]), nil
}

// errReadOn means that one message was read and the connection continues.
var errReadOn = errors.New("websocket: one message was read")

// errPanicked ends a connection after a panic of its handler, which is a bug of the host.
var errPanicked = errors.New("websocket: handler panicked")

// readGuarded calls read and returns errPanicked if the handler panics.
func (c *Conn) readGuarded() (code uint16, err error) {
	err = errPanicked
	c.guard(func() { code, err = c.read(c.in.handler) })
	return code, err
}

// guard runs f and reports whether it returned without a panic.
func (c *Conn) guard(f func()) (ok bool) {
	defer transport.Rescue(c.l.opt.Counters, &c.l.opt.Log, "WebSocket handler", nil)
	f()
	return true
}

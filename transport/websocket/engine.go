package websocket

import (
	"errors"
	"fmt"

	"troupe/transport"
)

// Engine says what reads for connections without TLS.
type Engine string

// Engines.
const (
	// EngineGoroutine: each connection has a goroutine that reads.
	EngineGoroutine Engine = "goroutine"
	// EngineEpoll: event loops read for all connections (Linux only). A connection without input has
	// no goroutine and no buffer.
	EngineEpoll Engine = "epoll"
	// EngineAuto is the default: EngineGoroutine, until the other is the better one in all measurements.
	EngineAuto Engine = "auto"
)

// auto is the engine for EngineAuto. Only tests change it.
var auto = EngineGoroutine

// Used returns the engine that is used.
func (e Engine) Used() Engine {
	if e == EngineAuto || e == "" {
		return auto
	}
	return e
}

// Check reports an engine that does not exist, or not on this system.
func (e Engine) Check() error {
	switch e.Used() {
	case EngineGoroutine:
		return nil
	case EngineEpoll:
		if !pollers {
			return errors.New("epoll exists only on Linux")
		}
		return nil
	}
	return fmt.Errorf("%q is not goroutine, epoll or auto", string(e))
}

// errDrained is returned by reads of a connection with an event loop: there is no more input now.
var errDrained = errors.New("websocket: no more input")

// looped reports whether an event loop reads for the connection.
func (c *Conn) looped() bool { return c.sock != nil }

// window is the size of frames that are handed on in one piece. An event loop has more of a frame
// only if it has all of it: at most readBufferBytes are kept for a connection.
func (c *Conn) window() int {
	if c.looped() {
		return max(readBufferBytes, c.in.to-c.in.from)
	}
	return len(c.in.buf)
}

// runLooped accepts the connection, handles the input that came with the handshake, and gives
// the connection to an event loop.
func (c *Conn) runLooped(acceptor transport.Acceptor) {
	var code uint16
	err := c.accept(acceptor)
	if err == nil {
		code, err = c.readGuarded()
	}
	if errors.Is(err, errDrained) {
		c.keepRest()
		if err = c.sock.attach(c); err == nil {
			return
		}
	}
	c.end(code, err)
}

// readGuarded handles the input that is in the buffer. A panic of the handler is errPanicked.
func (c *Conn) readGuarded() (code uint16, err error) {
	err = errPanicked
	defer func() {
		if p := recover(); p != nil {
			transport.Panicked(c.l.opt.Counters, &c.l.opt.Log, "WebSocket handler", p)
		}
	}()
	return c.read(c.in.handler)
}

// handleReady reads once into buf, and handles what is complete. The error is errDrained if the
// connection goes on.
func (c *Conn) handleReady(buf []byte) (code uint16, err error) {
	in := &c.in
	kept := copy(buf, in.buf[in.from:in.to])
	n, err := c.sock.readNow(buf[kept:])
	if err != nil {
		return 0, err
	}
	giveSmall(in.buf)
	body := in.parser.wants() > 0
	in.buf, in.from, in.to = buf, 0, kept+n
	code, err = c.readGuarded()
	if body && errors.Is(err, errDrained) && in.parser.wants() > 0 && !c.muted.Load() {
		in.handler.OnAlive(nil) // a large message arrives slowly
	}
	c.keepRest()
	return code, err
}

// keepRest moves bytes that are not parsed yet into a small buffer, and gives up the one that they
// are in.
func (c *Conn) keepRest() {
	in := &c.in
	rest := in.buf[in.from:in.to]
	in.buf, in.from, in.to = nil, 0, 0
	if len(rest) == 0 {
		return
	}
	in.buf = takeSmall()
	in.to = copy(in.buf, rest) // less than a frame of window bytes
}

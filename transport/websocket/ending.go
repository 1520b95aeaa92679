package websocket

import (
	"errors"
	"net"
	"time"

	"troupe/messages"
	"troupe/transport"
	"troupe/transport/internal/openset"
	"troupe/transport/internal/rfc6455"
)

// Close implements transport.Conn. It returns at once. The writer goroutine writes the queued frames; after CloseLinger it
// starts no further write of them. Then it writes the close frame, waits for the peer's close frame for up to another
// CloseLinger, and closes the socket. If a stalled peer does not receive the close frame, the socket is closed 2*CloseLinger
// after the call. Only the first reason counts.
func (c *Conn) Close(reason messages.CloseReason) {
	if c.startClose(reason, true) {
		c.startWriter()
	}
}

// startClose starts to close the connection from the host's side. With drain, queued frames are written before the
// close frame. Without drain, because the peer broke the protocol, only the close frame is written. It returns
// false if the connection is already closing.
func (c *Conn) startClose(reason messages.CloseReason, drain bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.out
	if o.peerClosed || o.phase >= phaseClosing || o.phase == phaseDrain && drain {
		return false
	}
	if o.byHost == 0 {
		if reason == 0 {
			reason = messages.CloseInternalError // 0 is a bug of the caller
		}
		o.byHost = reason
		o.bye = byeFrame(uint16(reason), reason.String())
	}
	c.muted.Store(true)
	o.phase = phaseDrain
	o.drainUntil = c.l.clock() + c.l.opt.CloseLinger
	if !drain {
		o.phase, o.halfClose = phaseClosing, true
	}
	c.cutAfter(2 * c.l.opt.CloseLinger)
	return true
}

// answer replies to the peer's close frame, unless that frame already answers the host's. Queued frames are
// dropped, because the peer no longer reads them.
func (c *Conn) answer(code uint16) {
	c.mu.Lock()
	o := &c.out
	o.peerClosed = true
	if o.phase < phaseClosing {
		if o.bye != nil {
			controls.Put(o.bye)
		}
		o.bye = byeFrame(code, "")
		o.phase = phaseClosing
	}
	c.cutAfter(c.l.opt.CloseLinger)
	c.mu.Unlock()
	c.Flush()
}

// cutAfter closes the socket after d, whatever the state of the connection is. The caller holds mu.
func (c *Conn) cutAfter(d time.Duration) {
	if c.out.cut == nil {
		c.out.cut = time.AfterFunc(d, c.cut)
		return
	}
	c.out.cut.Reset(d)
}

func (c *Conn) closeFrameWritten() {
	c.mu.Lock()
	half := c.out.halfClose
	if !c.out.peerClosed {
		c.cutAfter(c.l.opt.CloseLinger)
	}
	c.mu.Unlock()
	if !half {
		return
	}
	if w, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
}

// awaitWriter returns once no goroutine is writing. The caller has made sure that the writer ends.
func (c *Conn) awaitWriter() {
	c.mu.Lock()
	if c.out.writer == writerIdle {
		c.mu.Unlock()
		return
	}
	if c.out.idle == nil {
		c.out.idle = make(chan struct{})
	}
	idle := c.out.idle
	c.mu.Unlock()
	<-idle
}

// run asks the acceptor and reads the first message, the LOGIN. Then it starts another goroutine for the rest,
// because by then the stack of its own has grown.
func (c *Conn) run(acceptor transport.Acceptor) {
	if err := c.accept(acceptor); err != nil {
		c.end(0, err)
		return
	}
	c.in.one = true
	c.readOn()
}

// readOn is the reader goroutine. With in.one it reads one message and then starts a new reader goroutine.
func (c *Conn) readOn() {
	code, err := c.readGuarded()
	if err == errReadOn {
		c.in.one = false
		go c.readOn()
		return
	}
	c.end(code, err)
}

// accept asks the acceptor for the connection's handler. It returns errPanicked if the acceptor panicked.
func (c *Conn) accept(acceptor transport.Acceptor) error {
	count := c.l.opt.Counters
	count.Accepted.Add(c.Channel(), 1)
	count.Connections.Add(c.Channel(), 1)
	var handler transport.Handler
	accepted := c.guard(func() {
		h, refusal := acceptor.Accept(c)
		if handler = h; h == nil {
			c.Close(refusal)
		}
	})
	if handler == nil {
		handler = transport.Nobody{}
	}
	c.in.handler = handler
	if !accepted {
		return errPanicked
	}
	return nil
}

// end closes the socket and calls the handler's OnClosed.
func (c *Conn) end(code uint16, err error) {
	end := c.finish(code, err)
	c.guard(func() { c.in.handler.OnClosed(end) })
	openset.Remove(&c.l.Set, c)
}

// finish closes the socket, with a close frame if possible, and returns how the connection ended.
func (c *Conn) finish(code uint16, err error) transport.End {
	var broken *rfc6455.Violation
	switch {
	case err == nil:
		c.answer(code)
		c.awaitWriter()
	case errors.As(err, &broken):
		c.closeAndDiscard(broken.Reason)
	case errors.Is(err, errPanicked):
		c.closeAndDiscard(messages.CloseInternalError)
	}
	c.limitKernel()
	_ = c.nc.Close()
	c.awaitWriter()
	end := c.release(code, err)
	end.Count(c.l.opt.Counters, c.Channel())
	return end
}

// closeAndDiscard sends the close frame and reads until the peer closes. Closing a socket with
// unread input would reset the connection.
func (c *Conn) closeAndDiscard(reason messages.CloseReason) {
	if !c.startClose(reason, false) {
		return
	}
	c.Flush()
	if len(c.in.buf) == 0 {
		c.in.buf = takeSmall()
	}
	for {
		if _, err := c.nc.Read(c.in.buf); err != nil {
			return
		}
	}
}

// release releases the connection's resources. The caller has closed the socket, and no goroutine is writing any more.
func (c *Conn) release(code uint16, err error) transport.End {
	c.mu.Lock()
	o := &c.out
	o.phase = phaseEnded
	for _, f := range o.sends {
		f.Release()
	}
	for _, slot := range []**control{&o.ping, &o.pong, &o.bye} {
		if *slot != nil {
			controls.Put(*slot)
			*slot = nil
		}
	}
	if o.cut != nil {
		o.cut.Stop()
	}
	o.sends, o.source, o.cut = nil, nil, nil
	if o.err != nil && errors.Is(err, net.ErrClosed) {
		err = o.err // the cause, rather than the reader's error
	}
	// The kernel reported its write timeout to the reader, not to the writer.
	if o.byHost == 0 && !o.peerClosed && timedOut(err) {
		o.byHost = messages.CloseWriteTimeout
	}
	end := transport.End{Code: code, ByHost: o.byHost, Err: err}
	c.mu.Unlock()

	c.ticket.Swap(nil).Leave()
	giveBuffer(c.in.msg)
	c.in.msg, c.in.buf = nil, nil
	leave := code == uint16(messages.CloseNormal) || code == 0 && c.l.opt.EmptyCloseIsLeave
	end.Clean = err == nil && leave && end.ByHost == 0
	return end
}

package websocket

import (
	"errors"
	"net"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/internal/rfc6455"
)

// Close implements transport.Conn. It returns at once. The writer goroutine writes
// queued frames, and starts no further write of them after CloseLinger. Then it writes
// the close frame, waits for the peer's close frame for as long again, and closes the
// socket. If the peer has stalled, so that the close frame cannot be written, the socket
// is closed after twice CloseLinger. Only the first reason counts.
func (c *Conn) Close(reason messages.CloseReason) {
	if c.part(reason, true) {
		c.startWriter()
	}
}

// part begins the end from the host's side: with the queue first, or without it
// because the peer broke the rules and only wants telling. It reports false when
// the connection is ending already.
func (c *Conn) part(reason messages.CloseReason, drain bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.out
	if o.peerClosed || o.phase >= phaseParting || o.phase == phaseDrain && drain {
		return false
	}
	if o.byHost == 0 {
		if reason == 0 {
			reason = messages.CloseInternalError // no number, no close frame: a bug of the caller
		}
		o.byHost = reason
		o.bye = farewell(reason)
	}
	c.muted.Store(true)
	o.phase = phaseDrain
	o.drainUntil = time.Now().Add(c.l.opt.CloseLinger)
	if !drain {
		o.phase, o.halfClose = phaseParting, true
	}
	c.cutAfter(2 * c.l.opt.CloseLinger)
	return true
}

// answer replies to the peer's close frame, unless it is itself the answer to
// ours. What is queued is not written any more: nobody reads it.
func (c *Conn) answer(code uint16) {
	c.mu.Lock()
	o := &c.out
	o.peerClosed = true
	if o.phase < phaseParting {
		if o.bye != nil {
			controls.Put(o.bye)
		}
		o.bye = echo(code)
		o.phase = phaseParting
	}
	c.cutAfter(c.l.opt.CloseLinger)
	c.mu.Unlock()
	c.Flush()
}

// cutAfter closes the socket after d, whatever goes on then. The caller holds mu.
func (c *Conn) cutAfter(d time.Duration) {
	if c.out.cut == nil {
		c.out.cut = time.AfterFunc(d, c.cut)
		return
	}
	c.out.cut.Reset(d)
}

// saidGoodbye runs once the close frame is written.
func (c *Conn) saidGoodbye() {
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

// awaitWriter returns once nobody writes. What makes the writer end is up to the
// caller.
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

// run is the life of the connection, in the goroutine that reads.
func (c *Conn) run(acceptor transport.Acceptor) {
	count := c.l.opt.Counters
	count.Accepted.Add(c.channel(), 1)
	count.Connections.Add(c.channel(), 1)
	var handler transport.Handler
	accepted := c.guard(func() {
		h, refusal := acceptor.Accept(c)
		if handler = h; h == nil {
			c.Close(refusal)
		}
	})
	if handler == nil {
		handler = nobody{}
	}
	var code uint16
	err := errPanicked
	if accepted {
		c.guard(func() { code, err = c.read(handler) })
	}
	end := c.finish(code, err)
	c.guard(func() { handler.OnClosed(end) })
	c.l.conns.Remove(c)
}

// finish closes the socket, decently where that is possible, frees what the
// connection holds and returns how it ended.
func (c *Conn) finish(code uint16, err error) transport.End {
	var broken *rfc6455.Violation
	switch {
	case err == nil:
		c.answer(code)
		c.awaitWriter()
	case errors.As(err, &broken):
		c.tellAndDiscard(broken.Reason)
	case errors.Is(err, errPanicked):
		c.tellAndDiscard(messages.CloseInternalError)
	}
	c.limitKernel()
	_ = c.nc.Close()
	c.awaitWriter()
	end := c.release(code, err)
	c.account(end)
	return end
}

// tellAndDiscard sends the reason, shuts the write side and reads until the peer
// is done too: closing a socket with input unread would reset it, and the peer
// would never see the close frame.
func (c *Conn) tellAndDiscard(reason messages.CloseReason) {
	if !c.part(reason, false) {
		return
	}
	c.Flush()
	for {
		if _, err := c.nc.Read(c.in.buf); err != nil {
			return
		}
	}
}

// release frees what the connection holds. The socket is closed and nobody
// writes; from here on nobody will.
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
	ticket := o.ticket
	o.sends, o.source, o.cut, o.ticket = nil, nil, nil, nil
	if o.err != nil && errors.Is(err, net.ErrClosed) {
		err = o.err // what broke the connection, not what the reader saw of it
	}
	if o.byHost == 0 && !o.peerClosed && timedOut(err) { // the kernel told the reader, not the writer
		o.byHost = messages.CloseWriteTimeout
	}
	end := transport.End{Code: code, ByHost: o.byHost, Err: err}
	c.mu.Unlock()

	ticket.Leave()
	giveBuffer(c.in.msg)
	c.in.msg, c.in.buf = nil, nil
	leave := code == uint16(messages.CloseNormal) || code == 0 && c.l.opt.EmptyCloseIsLeave
	end.Clean = err == nil && leave && end.ByHost == 0
	return end
}

// account counts and logs the end.
func (c *Conn) account(end transport.End) {
	count, class := c.l.opt.Counters, counters.ClosedLost
	switch {
	case end.Clean:
		class = counters.ClosedByPeer
	case end.ByHost != 0:
		class = counters.ClosedByHost
		count.CountClose(uint16(end.ByHost))
	}
	count.Closed.Add(class, 1)
	count.Connections.Add(c.channel(), -1)
	if e := c.l.opt.Log.Debug(); e.Enabled() {
		e.Uint64("conn_id", c.id).Stringer("remote", c.remote).Stringer("transport", c.Kind()).
			Stringer("class", class).Uint16("code", end.Code).Uint16("by_host", uint16(end.ByHost)).
			AnErr("cause", end.Err).Msg("connection ended")
	}
}

package websocket

import (
	"errors"
	"os"
	"syscall"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/internal/rfc6455"
)

// flushRoundsMax limits the writes of one Flush. Otherwise a source that fills as fast as it drains would block the caller.
const flushRoundsMax = 8

// Flush implements transport.Conn.
func (c *Conn) Flush() {
	c.mu.Lock()
	o := &c.out
	if o.writer != writerIdle {
		o.writer = writerRecheck
		c.mu.Unlock()
		return
	}
	if o.phase >= phaseClosed || o.phase == phaseOpen && o.source == nil && len(o.sends) == 0 && o.ping == nil && o.pong == nil {
		c.mu.Unlock()
		return
	}
	s := takeScratch()
	more := c.composeGuarded(s)
	if len(s.b) == 0 {
		c.mu.Unlock()
		giveScratch(s)
		return
	}
	o.writer = writerBusy
	c.mu.Unlock()
	if c.raw == nil {
		go c.writeLoop(s)
		return
	}
	c.writeNow(s, more)
}

// writeNow writes s and further frames as long as the kernel accepts them. The caller has set writerBusy.
func (c *Conn) writeNow(s *scratch, more bool) {
	defer transport.Rescue(c.l.opt.Counters, &c.l.opt.Log, "WebSocket writer", func(any) { c.writeFailed(errPanicked) })
	for round := 1; ; round++ {
		n, err := s.try(c.raw)
		c.countWrite(n)
		s.off += n
		switch {
		case err != nil:
			giveScratch(s)
			c.writeFailed(err)
			return
		case s.off < len(s.b), more && round >= flushRoundsMax:
			go c.writeLoop(s)
			return
		}
		var done bool
		if more, done = c.next(s, more); done {
			return
		}
	}
}

// next composes the frames after s, which is written. It does so if all is true, or if Flush was called meanwhile. If
// it returns done, there are none, and the writer has become idle.
func (c *Conn) next(s *scratch, all bool) (more, done bool) {
	if s.last {
		c.closeFrameWritten()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ping && c.out.pinged == pingWaiting {
		c.out.pinged = pingWritten
	}
	s.reset()
	if all || c.out.writer == writerRecheck {
		more = c.composeGuarded(s)
	}
	if done = len(s.b) == 0; done {
		c.rest()
		giveScratch(s)
	}
	return more, done
}

// startWriter starts the writer goroutine. If a goroutine is already writing, it makes that one check again.
func (c *Conn) startWriter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.writer != writerIdle {
		c.out.writer = writerRecheck
		return
	}
	c.out.writer = writerBusy
	go c.writeLoop(takeScratch())
}

// writeLoop is the writer goroutine. It writes s and the frames after it, and waits for a slow peer. The caller has set writerBusy.
func (c *Conn) writeLoop(s *scratch) {
	defer transport.Rescue(c.l.opt.Counters, &c.l.opt.Log, "WebSocket writer", func(any) { c.writeFailed(errPanicked) })
	for {
		if err := c.writeWaiting(s); err != nil {
			giveScratch(s)
			c.writeFailed(err)
			return
		}
		_ = c.nc.SetWriteDeadline(time.Time{}) // an expired deadline would fail the next write
		if _, done := c.next(s, true); done {
			return
		}
	}
}

// writeWaiting writes the rest of s. Progress restarts the timeout, so a stalled peer is detected after one to two timeouts.
func (c *Conn) writeWaiting(s *scratch) error {
	var way moves
	for s.off < len(s.b) {
		if !c.patient {
			_ = c.nc.SetWriteDeadline(time.Now().Add(way.wait(c.l.opt.WriteTimeout)))
		}
		n, err := c.nc.Write(s.b[s.off:])
		c.countWrite(n)
		s.off += n
		if err == nil {
			continue
		}
		if c.patient || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if way.sys == nil {
			way.sys = c.sys() // not earlier: it allocates, and most writes do not block
		}
		if !way.on(n) {
			return err
		}
	}
	return nil
}

func (c *Conn) countWrite(n int) {
	c.l.opt.Counters.Writes.Add(c.Channel(), 1)
	c.l.opt.Counters.BytesOut.Add(c.Channel(), int64(n))
}

// composeGuarded calls compose. A panic of the source ends only this connection. The caller holds mu and owns s.
func (c *Conn) composeGuarded(s *scratch) (more bool) {
	defer transport.Rescue(c.l.opt.Counters, &c.l.opt.Log, "WebSocket source", func(any) {
		s.reset()
		o := &c.out
		o.phase, o.source, more = phaseEnded, nil, false
		if o.err == nil {
			o.err = errPanicked
		}
		if o.byHost == 0 {
			o.byHost = messages.CloseInternalError
		}
		c.muted.Store(true)
		c.cutAfter(0)
	})
	return c.compose(s)
}

// compose fills s with the next frames in this order: pong, ping, frames of Send, frames of the source, and at the end
// the close frame. It reports whether there is more to compose. The caller holds mu and owns s.
func (c *Conn) compose(s *scratch) (more bool) {
	o := &c.out
	if o.writer == writerRecheck {
		o.writer = writerBusy
	}
	if o.phase >= phaseClosed {
		return false
	}
	if o.phase == phaseDrain && c.l.clock() >= o.drainUntil {
		o.phase = phaseClosing
	}
	if o.phase < phaseClosing {
		takeControl(s, rfc6455.Pong, &o.pong)
		takeControl(s, rfc6455.Ping, &o.ping)
		more = c.takeSends(s)
		if !more && o.source != nil {
			before := len(s.b)
			// A source that has more but appends nothing would make the loop endless.
			more = o.source.Drain(s) && len(s.b) > before
		}
		if more || o.phase == phaseOpen {
			if s.ping && o.pinged == pingNone {
				o.pinged = pingWaiting
			}
			return more
		}
	}
	s.control(rfc6455.Close, o.bye.b[:o.bye.n])
	s.last = true
	o.phase = phaseClosed
	return false
}

// takeControl moves a queued control frame into s.
func takeControl(s *scratch, op rfc6455.Opcode, slot **control) {
	if *slot == nil {
		return
	}
	s.control(op, (*slot).b[:(*slot).n])
	controls.Put(*slot)
	*slot = nil
}

// takeSends moves frames of Send into s and reports whether s is full.
func (c *Conn) takeSends(s *scratch) (full bool) {
	o := &c.out
	taken := 0
	for taken < len(o.sends) && !full {
		full = !s.Append(o.sends[taken])
		o.sends[taken].Release()
		taken++
	}
	if taken == len(o.sends) {
		o.sends = nil // most connections send only the answer to the login
		return full
	}
	o.sends = append([]*wire.Frame(nil), o.sends[taken:]...)
	return full
}

// rest sets the writer to idle when the current goroutine stops writing. The caller holds mu.
func (c *Conn) rest() {
	c.out.writer = writerIdle
	if c.out.idle != nil {
		close(c.out.idle)
		c.out.idle = nil
	}
}

// timedOut reports whether the peer has received nothing for too long, according to the host's deadline or the kernel's.
func timedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT)
}

// resetByPeer reports whether the peer's system no longer has the connection. Reads still return the bytes that arrived before.
func resetByPeer(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// writeFailed ends the connection after a failed write. The reader cleans up.
func (c *Conn) writeFailed(err error) {
	timeout := timedOut(err)
	c.mu.Lock()
	o := &c.out
	o.phase = phaseEnded
	if o.err == nil {
		o.err = err
	}
	if timeout && o.byHost == 0 && !o.peerClosed {
		o.byHost = messages.CloseWriteTimeout
		c.muted.Store(true)
	}
	c.mu.Unlock()
	if timeout {
		lingerNot(c.nc) // reset: the kernel drops unsent bytes
	}
	if !resetByPeer(err) {
		c.cut()
	} // otherwise the reader finds the end itself, after input that may include a leave
	c.mu.Lock()
	c.rest()
	c.mu.Unlock()
}

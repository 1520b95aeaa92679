package kcp

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/internal/openset"
)

// sendsMax is how many frames Send may queue (transport.Conn).
const sendsMax = 16

// Conn is the host's side of one connection. A Listener creates it. It removes itself from the Listener when it ends.
type Conn struct {
	id      uint64
	l       *Listener
	e       *engine
	handler transport.Handler // set before the first record

	fast   atomic.Pointer[Fast]             // nil before OpenFast
	ticket atomic.Pointer[transport.Ticket] // nil after LoggedIn and after the end

	// guarded by the engine's lock
	source wire.Source
	sends  []*wire.Frame // queued by Send; nil if there are none
}

var _ transport.Conn = (*Conn)(nil)

func newConn(l *Listener, carrier Carrier, ticket *transport.Ticket) *Conn {
	c := &Conn{id: l.opt.NextID(), l: l}
	c.ticket.Store(ticket)
	c.e = newEngine(carrier, settings{
		count: l.opt.Counters, log: l.opt.Log,
		writeTimeout: l.opt.WriteTimeout, closeLinger: l.opt.CloseLinger,
		receiveWindow: pendingSegments, messageMax: pendingMessageBytesMax,
		wantsAlive: true, workers: l.workers, clock: l.clock,
	})
	c.e.owner = c
	return c
}

// ID implements transport.Conn.
func (c *Conn) ID() uint64 { return c.id }

// Channel implements transport.Conn.
func (c *Conn) Channel() counters.Channel { return counters.KCP }

// RemoteAddr implements transport.Conn.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.e.carrier.RemoteAddr() }

// RoundTrip returns the mean round trip time to the peer. It is 0 before the first acknowledgement.
func (c *Conn) RoundTrip() time.Duration {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	return c.e.sending.rtt.mean
}

// LoginRead implements transport.Conn.
func (c *Conn) LoginRead() { c.ticket.Load().LoginRead() }

// Reached implements transport.Conn. It knows no byte count, and returns true because pings overtake messages.
func (c *Conn) Reached() (acked uint64, ping bool) { return 0, true }

// PongsInOrder implements transport.Conn: pings overtake messages.
func (c *Conn) PongsInOrder() bool { return false }

// LoggedIn implements transport.Conn. It raises the limits on input, so call it before answering the LOGIN.
func (c *Conn) LoggedIn() {
	c.e.lock()
	c.e.widen(messageBytesMax)
	c.e.leave()
	c.ticket.Swap(nil).LoggedIn()
}

// SetSource implements transport.Conn. Drain runs under the engine's lock, so the previous source
// is no longer in use when SetSource returns.
func (c *Conn) SetSource(src wire.Source) {
	c.e.lock()
	if c.e.ending.report < endFinal {
		c.source = src
	}
	c.e.leave()
}

// Send implements transport.Conn. The next Flush, or Close, sends the frame.
func (c *Conn) Send(f *wire.Frame) {
	c.e.lock()
	full := len(c.sends) >= sendsMax
	taken := !full && c.e.phase < phaseBye
	if taken {
		c.sends = append(c.sends, f)
	}
	c.e.leave()
	if !taken {
		f.Release()
	}
	if full {
		c.Close(messages.CloseSlowConsumer)
	}
}

// Flush implements transport.Conn. Frames that do not fit KCP's window are sent after the peer has acknowledged earlier ones.
func (c *Conn) Flush() {
	c.e.lock()
	c.e.guarded(c.e.push)
	c.e.leave()
}

// Ping implements transport.Conn. It resends the ping until it is answered, for up to three
// seconds. A payload over 125 bytes is truncated.
func (c *Conn) Ping(payload []byte) {
	c.e.lock()
	if c.e.phase <= phaseDrain {
		c.e.startPing(payload)
	}
	c.e.leave()
}

// Close implements transport.Conn. It returns at once. Queued frames are sent until they are acknowledged, for
// at most CloseLinger; the rest is dropped. Then the peer gets a bye and has one second to acknowledge it. If
// Close is called again, the first reason stays.
func (c *Conn) Close(reason messages.CloseReason) {
	if reason == 0 {
		reason = messages.CloseInternalError // 0 is a bug of the caller
	}
	c.e.lock()
	c.e.guarded(func() { c.e.startClose(reason, nil, true) })
	c.e.leave()
}

// refill implements owner.
func (c *Conn) refill() (more bool) {
	taken := 0
	for taken < len(c.sends) && c.e.room() {
		c.e.Append(c.sends[taken])
		c.sends[taken].Release()
		taken++
	}
	if taken == len(c.sends) {
		c.sends = nil // most connections send only the answer to the login
	} else {
		c.sends = slices.Delete(c.sends, 0, taken)
	}
	if !c.e.room() {
		return len(c.sends) > 0 || c.source != nil
	}
	return c.source != nil && c.source.Drain(c.e)
}

// ending implements owner.
func (c *Conn) ending() {
	if f := c.fast.Load(); f != nil {
		f.Close()
	}
}

// onMessage implements owner.
func (c *Conn) onMessage(message []byte) { c.handler.OnUnit(message) }

// onAlive implements owner.
func (c *Conn) onAlive(pong []byte) { c.handler.OnAlive(pong) }

// onClosed implements owner: it releases the frames and the ticket, and reports the end.
func (c *Conn) onClosed(how ended) {
	defer openset.Remove(&c.l.Set, c)
	c.e.lock()
	for _, f := range c.sends {
		f.Release()
	}
	c.sends, c.source = nil, nil
	c.e.leave()
	c.ticket.Swap(nil).Leave()
	end := transport.End{Code: how.code, ByHost: how.ours, Err: how.err}
	end.Clean = how.peerSaid && how.code == uint16(messages.CloseNormal) && how.ours == 0
	end.Count(c.l.opt.Counters, counters.KCP)
	c.handler.OnClosed(end)
}

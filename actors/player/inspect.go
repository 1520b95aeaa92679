package player

import (
	"net/netip"
	"time"

	"troupe/messages"
)

// Inspect adds to p what the player's queue and its connection say of themselves. Any
// goroutine may call it.
func (h *Handle) Inspect(p *messages.PlayerState) {
	link := h.Out.inspect(p)
	if c, ok := link.(interface{ RemoteAddr() netip.AddrPort }); ok {
		p.Address = c.RemoteAddr()
	}
	if c, ok := link.(interface{ RoundTrip() time.Duration }); ok {
		p.RTT = c.RoundTrip()
	}
	p.Fast = h.FastReady()
	p.Sent += h.fastSent.Load()
}

// inspect returns the attached connection, nil if there is none.
func (o *Outbox) inspect(p *messages.PlayerState) Link {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, a := &o.queue, &o.attachment
	p.Attached = a.state == attached
	p.Waiting, p.Unconfirmed, p.QueueBytes, p.Slow = q.n-q.next, q.next, q.bytes, q.slow
	p.Sent = q.last + q.unnumbered
	if a.channel != 0 {
		p.Transport = a.channel.String()
	}
	if !p.Attached {
		return nil
	}
	return a.link
}

package sim

import (
	"slices"
	"time"

	"troupe/transport/transporttest/stock"
)

// lateLogin is a login on a connection that its device abandons for another one. It is sent late, so the host
// may handle the two logins in either order.
type lateLogin struct {
	after    time.Duration
	token    string // token at the time of the abandonment
	received uint64
	closes   bool
	sent     time.Time // zero: not sent yet
}

// loginLate sends an abandoned login. The caller must not hold the lock.
func (l *link) loginLate() {
	g, d := l.givenUp, l.dev
	time.Sleep(g.after)
	d.mu.Lock()
	p := packet{Packet: stock.LoginPacket(stock.CSharp, string(d.id), nil)}
	p.login.caps, p.login.token, p.login.lastReceived = 1, g.token, g.received
	d.note(d.player, "late login", int64(l.number), int64(g.received))
	d.mayBeOutrun()
	g.sent = time.Now()
	l.write(&p)
	d.mu.Unlock()
	if g.closes {
		time.Sleep(g.after)
		d.mu.Lock()
		d.mayBeOutrun()
		d.mu.Unlock()
		l.sock.reset()
	}
}

// mayBeOutrun records that the host may close the player's current connection, because an abandoned login
// replaces it, or because the connection of that login ended afterwards.
func (p *player) mayBeOutrun() {
	p.outrunAt = time.Now()
	if l := p.dev.link; l != nil && p.brokenAt.IsZero() {
		p.broken()
		l.doubtful = true
	}
}

// outrun returns an abandoned attempt whose LOGIN arrived late and may have replaced this connection, or nil.
func (l *link) outrun() (by *link) {
	for _, other := range l.dev.all {
		if other != l && other.sock != nil && (other.inAt.IsZero() || !other.inAt.Before(l.opened)) {
			by = other
		}
	}
	return by
}

// outrunByAnother reports whether another device's login may have replaced this device's. That login was
// either abandoned, or still unanswered when this device took over, and a faulty path delivered it late.
func (d *device) outrunByAnother() bool {
	return slices.ContainsFunc(d.all, func(other *link) bool {
		return other.dev != d && (other.givenUp != nil && other.givenUp.sent.After(d.inAt) ||
			other.loggedIn && !other.refused && (other.inAt.IsZero() || other.inAt.After(d.inAt)))
	})
}

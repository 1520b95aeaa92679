package sim

import (
	"slices"
	"time"

	"troupe/transport/transporttest/stock"
)

// lateLogin is that of a connection whose device gave it up for another one while its login was on the way. The host may
// handle the two in either order.
type lateLogin struct {
	after    time.Duration
	token    string // as it was then
	received uint64
	closes   bool
	sent     time.Time // zero: not yet
}

// loginLate sends the login that was given up. The caller does not hold the lock.
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

// mayBeOutrun notes that the player's connection may be closed, because a login that was given up wins, or ended when that
// had won.
func (p *player) mayBeOutrun() {
	p.outrunAt = time.Now()
	if l := p.dev.link; l != nil && p.brokenAt.IsZero() {
		p.broken()
		l.doubtful = true
	}
}

// outrun returns an attempt that the player had given up and that may have won after this connection was in: the network
// brought its LOGIN late. It is nil if there is none.
func (l *link) outrun() (by *link) {
	for _, other := range l.dev.all {
		if other != l && other.sock != nil && (other.inAt.IsZero() || !other.inAt.Before(l.opened)) {
			by = other
		}
	}
	return by
}

// outrunByAnother reports whether another device's login may have won after this device was in: one that was given up, or one
// that nobody had answered when this device took over, and that a broken path brought late.
func (d *device) outrunByAnother() bool {
	return slices.ContainsFunc(d.all, func(other *link) bool {
		return other.dev != d && (other.givenUp != nil && other.givenUp.sent.After(d.inAt) ||
			other.loggedIn && !other.refused && (other.inAt.IsZero() || other.inAt.After(d.inAt)))
	})
}

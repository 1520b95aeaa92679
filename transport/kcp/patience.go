package kcp

import "time"

// A missing ack may have arrived already and still be unread in this host's socket. If an overloaded host ignored that,
// it would resend everything, ping everybody and end live connections, and fall even further behind. So actions caused
// by a silent peer are postponed while the socket has many unread datagrams, for at most patienceMax.
const (
	patienceMin  = 2 * time.Millisecond  // pause before the socket is checked again; each pause is longer
	patienceStep = 32 * time.Millisecond // the longest pause
	// patienceMax is the longest postponement.
	patienceMax = 250 * time.Millisecond
)

// patience is the state of a postponement.
type patience struct {
	until time.Duration // when the socket is checked again
	at    time.Duration // when the postponement began; never if there is none
	about time.Duration // the result of missed that is postponed
}

// missed returns the earliest time at which this side must act because the peer is silent.
func (e *engine) missed() time.Duration {
	t := &e.timer
	return min(t.resend, t.probe, t.ping, e.stalled(), e.silent(), e.checkDue())
}

// isPatient reports whether the actions of missed are postponed now.
func (e *engine) isPatient() bool {
	p, missed := &e.timer.patience, e.missed()
	if e.now < p.until {
		return true
	}
	if p.about != missed {
		p.about, p.at = missed, never
	}
	switch {
	case e.now < missed, p.at != never && e.now-p.at >= patienceMax, !e.carrier.Unread():
		p.at = never
		return false
	case p.at == never:
		p.at = e.now
	}
	p.until = e.now + min(max(patienceMin, e.now-p.at), patienceStep)
	return true
}

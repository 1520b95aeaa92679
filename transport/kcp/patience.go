package kcp

import "time"

// What nothing has come for is not missing while it may lie in the socket: a host that is behind would send everything again,
// ping everybody and end live connections, and be even further behind. So what is due because nothing has come from the peer
// waits while the socket has datagrams that are not read yet, for patienceMax at most.
const (
	patienceMin  = 2 * time.Millisecond  // until the socket is asked again; then twice as long each time,
	patienceStep = 32 * time.Millisecond // up to this
	patienceMax  = 250 * time.Millisecond
)

// patience is the state of waiting for the socket to be read.
type patience struct {
	until time.Duration // when the socket is asked again
	at    time.Duration // when it was asked first; never: not
	about time.Duration // what it waits with: the time of missed
}

// missed returns when something is due because nothing has come from the peer.
func (e *engine) missed() time.Duration {
	t := &e.timer
	return min(t.resend, t.probe, t.ping, e.stalled(), e.silent(), e.checkDue())
}

// isPatient reports whether what is due because nothing has come waits.
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

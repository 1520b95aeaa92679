package player

import (
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// attachment says which connection drains an outbox. The Outbox locks it.
type attachment struct {
	state   attachState
	dirty   bool             // a batch will flush it at its end
	channel counters.Channel // of the newest connection
	epoch   messages.Epoch   // of the newest connection
	link    Link             // nil if there is none
	// abandoned is the last link that ended while it was not attached.
	abandoned     Link
	loginResponse *wire.Frame // LOGIN_RESPONSE, until the connection takes it
}

type attachState uint8

const (
	holding     attachState = iota + 1 // before the first attach: queue everything
	attached                           // a connection drains
	orphaned                           // the connection has ended, and the player actor has not been told yet
	detached                           // no connection drains: queue reliable messages
	surrendered                        // queue nothing more; the closing connection drains the rest
	closed                             // the player session has ended
)

// serves reports whether a connection is attached, even one that has ended.
func (s attachState) serves() bool { return s == attached || s == orphaned }

// drains reports whether a connection may take messages.
func (s attachState) drains() bool { return s.serves() || s == surrendered }

func (s attachState) takes() bool { return s < surrendered }

// begin attaches a connection, which may have ended already.
func (a *attachment) begin(link Link, channel counters.Channel, e messages.Epoch) {
	a.state = attached
	if a.abandoned == link {
		a.state = orphaned
	}
	a.link, a.abandoned = link, nil
	a.channel, a.epoch = channel, e
	a.dirty = false
}

// detach detaches the connection and returns it, or nil. A closing connection goes on draining.
func (a *attachment) detach() (from Link) {
	if a.state.serves() {
		a.state, from = detached, a.link
		a.dropLoginResponse()
		a.link = nil
	}
	a.dirty = false
	return from
}

// surrender leaves the queue to its connection, which it returns to be closed, or nil. Over: it has ended already.
func (a *attachment) surrender() (link Link, over bool) {
	switch a.state {
	case attached:
		a.state = surrendered
		return a.link, false
	case orphaned:
		return a.link, true
	}
	return nil, false
}

// abandon notes that a connection has ended. Over says that the queue was surrendered to it.
func (a *attachment) abandon(link Link) (over bool) {
	switch {
	case !a.state.drains(), a.link != link: // link may be about to be attached
		a.abandoned = link
	case a.state == surrendered:
		return true
	default:
		a.state = orphaned
	}
	return false
}

func (a *attachment) close() {
	a.dropLoginResponse()
	a.state, a.link = closed, nil
}

func (a *attachment) dropLoginResponse() {
	if a.loginResponse != nil {
		a.loginResponse.Release()
		a.loginResponse = nil
	}
}

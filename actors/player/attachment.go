package player

import (
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// attachment is which connection an outbox belongs to. It takes no lock: the Outbox
// does.
type attachment struct {
	state attachState
	link  Link // the connection; nil if there is none
	// abandoned is the last link that ended while it was not attached.
	abandoned Link
	epoch     messages.Epoch   // of the newest connection
	channel   counters.Channel // likewise
	greeting  *wire.Frame      // LOGIN_RESPONSE, until the connection takes it
	dirty     bool             // flushing is on somebody's list
}

type attachState uint8

const (
	holding     attachState = iota + 1 // before the first attach: keep everything
	attached                           // a connection drains
	orphaned                           // likewise, but it has ended, and the player actor has not heard yet
	detached                           // nobody drains: keep the reliable
	surrendered                        // taking nothing more; the closing connection drains the rest
	closed                             // over
)

// serves reports whether the player's messages are for its connection.
func (s attachState) serves() bool { return s == attached || s == orphaned }

// drains reports whether a connection may take from the queue.
func (s attachState) drains() bool { return s.serves() || s == surrendered }

// takes reports whether messages are taken.
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

// detach takes the queue away from its connection, which is returned; nil if there was
// none. A closing connection keeps it.
func (a *attachment) detach() (from Link) {
	if a.state.serves() {
		a.state, from = detached, a.link
		a.dropGreeting()
		a.link = nil
	}
	a.dirty = false
	return from
}

// surrender leaves the queue to its connection, which is to be closed; nil if there is
// none. Over says that it has ended already.
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

// abandon notes that a connection has ended. Over says that the queue was left to it.
func (a *attachment) abandon(link Link) (over bool) {
	switch {
	case !a.state.drains(), a.link != link: // it may be about to be attached
		a.abandoned = link
	case a.state == surrendered:
		return true
	default:
		a.state = orphaned
	}
	return false
}

// close ends it.
func (a *attachment) close() {
	a.dropGreeting()
	a.state, a.link = closed, nil
}

func (a *attachment) dropGreeting() {
	if a.greeting != nil {
		a.greeting.Release()
		a.greeting = nil
	}
}

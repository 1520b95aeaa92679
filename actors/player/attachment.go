package player

import (
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// attachment records which connection drains an outbox. The lock of the Outbox guards it.
type attachment struct {
	state   attachState
	dirty   bool             // the outbox will be flushed at the end of a batch
	channel counters.Channel // of the newest connection
	epoch   messages.Epoch   // of the newest connection
	link    Link             // nil if no connection drains the outbox
	// abandoned is the last link that ended while it was not attached.
	abandoned     Link
	loginResponse *wire.Frame // LOGIN_RESPONSE, until the connection has taken it
}

type attachState uint8

const (
	holding     attachState = iota + 1 // before the first attach: queue all messages
	attached                           // a connection drains the queue
	orphaned                           // the connection has ended, but the player actor does not know yet
	detached                           // no connection drains: queue reliable messages
	surrendered                        // queue no more messages; the closing connection drains the rest
	closed                             // the player session has ended
)

// serves reports whether a connection is attached. A connection that has ended counts until it is detached.
func (s attachState) serves() bool { return s == attached || s == orphaned }

// drains reports whether a connection may take messages from the queue.
func (s attachState) drains() bool { return s.serves() || s == surrendered }

func (s attachState) takes() bool { return s < surrendered }

// begin attaches a connection. The connection may have ended already.
func (a *attachment) begin(link Link, channel counters.Channel, e messages.Epoch) {
	a.state = attached
	if a.abandoned == link {
		a.state = orphaned
	}
	a.link, a.abandoned = link, nil
	a.channel, a.epoch = channel, e
	a.dirty = false
}

// detach detaches the connection and returns it. It returns nil if none is attached. A closing connection (surrendered)
// continues to drain the queue.
func (a *attachment) detach() (from Link) {
	if a.state.serves() {
		a.state, from = detached, a.link
		a.dropLoginResponse()
		a.link = nil
	}
	a.dirty = false
	return from
}

// surrender leaves the rest of the queue to the attached connection. It returns that connection, which the caller
// closes, or nil if none is attached. If over is true, the connection has already ended.
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

// abandon records that a connection has ended. If over is true, the queue had been surrendered to that connection.
func (a *attachment) abandon(link Link) (over bool) {
	switch {
	case !a.state.drains(), a.link != link: // the link may be attached later (see begin)
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

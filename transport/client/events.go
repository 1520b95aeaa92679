package client

import (
	"errors"
	"strconv"
	"time"

	"troupe/messages"
)

// EventKind is the kind of an Event.
type EventKind uint8

// Kinds of events.
const (
	// EventMessage is a message of a player or of the game.
	EventMessage EventKind = iota + 1
	// EventMembership lists the current members of a group.
	EventMembership
	// EventFastUp reports that messages with intent Fast use the fast channel from now on.
	EventFastUp
	// EventFastDown reports that the fast channel could not be set up or is down; Client.FastErr returns the reason.
	// Messages with intent Fast then use the reliable channel. While the connection lasts, the client tries to set up
	// the channel again, so an EventFastUp may follow. After a Move, EventFastDown is about the old connection.
	EventFastDown
	// EventDetached reports that the connection is lost and that the client reconnects.
	EventDetached
	// EventReconnected reports that the client has reconnected. The missed messages follow.
	EventReconnected
	// EventGap reports that the host could not keep all missed messages. The remaining ones follow.
	EventGap
)

var eventNames = [...]string{"", "message", "membership", "fast up", "fast down", "detached", "reconnected", "gap"}

// String returns the kind's name.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "invalid(" + strconv.Itoa(int(k)) + ")"
}

// Event is one thing that a Client received. The receiver owns its slices.
type Event struct {
	Kind EventKind
	// Sender is a peer id, or Server.
	Sender int32
	// Fast reports whether the event arrived over the fast channel.
	Fast bool

	// OpCode, TargetPlayer, TargetGroup and Payload are set for EventMessage. TargetPlayer is the player's own peer id
	// if the message was sent to this player alone.
	OpCode       int32
	TargetPlayer int32
	TargetGroup  int32
	Payload      []byte

	// Group and Players are set for EventMembership.
	Group   int32
	Players []int32

	Detached    *End         // for EventDetached: how the connection ended
	Reconnected *Reconnected // for EventReconnected
	Gap         *Gap         // for EventGap
}

// Reconnected describes a successful reconnection.
type Reconnected struct {
	// Transport is the transport of the new connection.
	Transport Transport
	// Attempts is the number of attempts. After is the time since the loss.
	Attempts int
	After    time.Duration
	// Replayed is how many messages that were in flight at the loss are sent again. The host drops duplicates. It
	// is 0 if the host does not number messages.
	Replayed uint64
	// Lost is how many messages to this player the host could not keep. If it is not 0, an EventGap follows.
	Lost uint64
	// PeerID is the same as before, unless the host does not number messages and has not resumed the player.
	PeerID int32
}

// Gap reports how many messages to this player were lost.
type Gap struct{ Lost uint64 }

// End says how a connection, or the Client, ended.
type End struct {
	// Code is the host's close code, or 0 if it sent none. Troupe hosts use the codes of messages.CloseReason on every transport.
	Code uint16
	// Reason is the text that came with the close code.
	Reason string
	// Local reports whether Close or Abort was called before the end.
	Local bool
	// Err is the error that broke the connection. It is nil after a close by the host, Close or Abort.
	Err error
}

// Retry says whether the player may log in again now, later, or not at all. A Client does so by
// itself, unless Options.Reconnect is off.
func (e End) Retry() messages.Retry {
	switch {
	case e.Local, errors.Is(e.Err, ErrGaveUp):
		return messages.RetryNever
	case e.Code == 0:
		return messages.RetryResume
	}
	return messages.CloseReason(e.Code).Retry()
}

// String describes the end in a few words.
func (e End) String() string {
	switch {
	case e.Local:
		return "closed here"
	case e.Code != 0:
		s := "closed by the host: " + strconv.Itoa(int(e.Code))
		if e.Reason != "" {
			s += " " + e.Reason
		}
		return s
	case e.Err != nil:
		return "connection lost: " + e.Err.Error()
	}
	return "open"
}

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
	// EventFastUp tells that messages of intent Fast go by the fast channel from now on.
	EventFastUp
	// EventFastDown tells that the fast channel is not up, or not any more (Client.FastErr says why): messages of intent Fast go
	// by the reliable channel. An EventFastUp may follow: a lost path is set up again while the connection lasts. After a Move,
	// EventFastDown is about the old connection.
	EventFastDown
	// EventDetached tells that the connection is lost and that the client reconnects.
	EventDetached
	// EventReconnected tells that the client has reconnected. The missed messages follow.
	EventReconnected
	// EventGap tells that the host could not keep all of the missed messages. The rest follows.
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

// Event is one thing that a Client received. Its slices belong to the receiver.
type Event struct {
	Kind EventKind
	// Sender is a peer id, or Server.
	Sender int32
	// Fast says that the event came by the fast channel.
	Fast bool

	// Of a message; TargetPlayer is the own peer id when it was sent to this player alone.
	OpCode       int32
	TargetPlayer int32
	TargetGroup  int32
	Payload      []byte

	// Of a membership.
	Group   int32
	Players []int32

	Detached    *End         // of EventDetached: how the connection ended
	Reconnected *Reconnected // of EventReconnected
	Gap         *Gap         // of EventGap
}

// Reconnected says how a Client was resumed.
type Reconnected struct {
	// Transport is the transport of the new connection.
	Transport Transport
	// Attempts is the number of attempts, and After the time since the loss.
	Attempts int
	After    time.Duration
	// Replayed is how many messages under way at the loss are sent again; the host drops duplicates. 0 if it does not number messages.
	Replayed uint64
	// Lost is how many messages to this player the host could not keep; an EventGap follows.
	Lost uint64
	// PeerID is the same as before, unless the host does not number messages and did not resume the player.
	PeerID int32
}

// Gap reports how many messages to this player were lost.
type Gap struct{ Lost uint64 }

// End says how a connection, or the Client, ended.
type End struct {
	// Code is the host's close code, 0 if it sent none; Troupe's own are messages.CloseReason, on every transport.
	Code uint16
	// Reason is the text that came with the close code.
	Reason string
	// Local says that Close or Abort was called before.
	Local bool
	// Err is the error that broke the connection; nil after a close by the host, Close or Abort.
	Err error
}

// Retry says whether to log in again now, later, or not at all. A Client does so by itself, unless Options.Reconnect is off.
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

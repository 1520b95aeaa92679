package client

import (
	"strconv"

	"troupe/messages"
)

// EventKind says what an Event is.
type EventKind uint8

// Kinds of events.
const (
	// EventMessage is a message of a player or of the game.
	EventMessage EventKind = iota + 1
	// EventMembership tells who is in a group now.
	EventMembership
	// EventFastUp tells that messages of intent Fast go by the fast channel from
	// now on.
	EventFastUp
	// EventFastDown tells that they do not, or no longer, for the rest of this
	// connection. Client.FastErr says why.
	EventFastDown
)

var eventNames = [...]string{"", "message", "membership", "fast up", "fast down"}

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
	// Fast says that it came by the fast channel.
	Fast bool

	// Of a message; TargetPlayer is the own peer id when it was sent to this
	// player alone.
	OpCode       int32
	TargetPlayer int32
	TargetGroup  int32
	Payload      []byte

	// Of a membership.
	Group   int32
	Players []int32
}

// End tells how a connection ended.
type End struct {
	// Code is the close code of the host's goodbye, 0 if it said none. Troupe's own
	// codes are messages.CloseReason, on every transport.
	Code uint16
	// Reason is the text of the goodbye.
	Reason string
	// Local says that Close or Abort was called before.
	Local bool
	// Err is what broke the connection; nil after a goodbye, Close or Abort.
	Err error
}

// Retry tells what to do next: log in again now, later, or not at all.
func (e End) Retry() messages.Retry {
	switch {
	case e.Local:
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

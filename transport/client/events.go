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
	// EventFastUp tells that unreliable messages go by the fast channel from now on.
	EventFastUp
)

// String returns the kind's name.
func (k EventKind) String() string {
	switch k {
	case EventMessage:
		return "message"
	case EventMembership:
		return "membership"
	case EventFastUp:
		return "fast up"
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
	// Code is the close code of the host's close frame, 0 if it sent none.
	// Troupe's own codes are messages.CloseReason.
	Code uint16
	// Reason is the text of that frame.
	Reason string
	// Local says that Close or Abort was called before.
	Local bool
	// Err is what ended the reading; nil after a close frame, Close or Abort.
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

// Stats are counts of packets since Dial, those of the protocol's own included.
type Stats struct {
	SentReliable     uint64 // by WebSocket
	SentFast         uint64 // by UDP
	ReceivedReliable uint64
	ReceivedFast     uint64
	// FastStale came late on the fast channel and were dropped.
	FastStale uint64
	// FastDropped found no place for their event.
	FastDropped uint64
	// Malformed could not be read.
	Malformed uint64
}

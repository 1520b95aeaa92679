package gamesession

import (
	"sync"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/wire"
)

// Kind says what a player wants.
type Kind uint8

// Kinds of inbound messages.
const (
	Application Kind = iota + 1 // route it
	JoinGroup
	LeaveGroup
	RequestMembership
	Ping // the packet, not the control frame
	// Nothing is a packet that the gateway did not let through, but whose number
	// counts.
	Nothing
)

// Inbound is one packet of a logged-in player, decoded and checked by the
// reader of its connection. It is pooled: post it, or Release it.
type Inbound struct {
	From *player.Handle
	Kind Kind
	// Group is the group of a group operation.
	Group messages.GroupID
	// Reliable tells the channel it came on.
	Reliable bool
	// Number is the packet's relSeq, 0 for none, and Epoch that of its connection.
	Number uint64
	Epoch  messages.Epoch
	// Frame is the packet as it will be delivered: true sender, one target. Only
	// Application has one. The Inbound owns one reference.
	Frame *wire.Frame
}

var inboundPool = sync.Pool{New: func() any { return new(Inbound) }}

// NewInbound returns an empty Inbound from the pool.
func NewInbound() *Inbound { return inboundPool.Get().(*Inbound) }

// Release gives the Inbound and its frame back.
func (in *Inbound) Release() {
	if in.Frame != nil {
		in.Frame.Release()
	}
	*in = Inbound{}
	inboundPool.Put(in)
}

// inboundOverhead is what an Inbound counts besides its frame, in bytes.
const inboundOverhead = 64

// Size implements stage.Sized.
func (in *Inbound) Size() int {
	if in.Frame == nil {
		return inboundOverhead
	}
	return inboundOverhead + in.Frame.Len()
}

// Undelivered implements stage.Undeliverable.
func (in *Inbound) Undelivered() { in.Release() }

// Post sends the Inbound to a game session. The errors are those of
// stage.Ref.Post; the Inbound is then still the caller's.
func (in *Inbound) Post(session *stage.Ref) error { return session.Post(in, in.Size()) }

// PostRun is Post by a goroutine that has time to run the game session itself;
// see stage.Ref.PostRun.
func (in *Inbound) PostRun(session *stage.Ref) error { return session.PostRun(in, in.Size()) }

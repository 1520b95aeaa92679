package gamesession

import (
	"sync"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/wire"
)

// Kind is the kind of an inbound packet.
type Kind uint8

// Kinds of inbound packets.
const (
	Application Kind = iota + 1 // to be routed
	JoinGroup
	LeaveGroup
	RequestMembership
	Ping // the packet, not the control frame
	// Nothing is a packet that the gateway has dropped. Its number is still recorded
	// as received.
	Nothing
)

// GroupOperation reports whether the limit on group operations applies to the kind.
func (k Kind) GroupOperation() bool {
	return k == JoinGroup || k == LeaveGroup || k == RequestMembership
}

// Inbound is one packet of a logged-in player, decoded and checked by its connection's
// reader. It is pooled: either Post or Release it.
type Inbound struct {
	From *player.Handle
	Kind Kind
	// Group is the group of a group operation.
	Group messages.GroupID
	// Reliable is true for packets of the reliable channel.
	Reliable bool
	// Number is the packet's relSeq, 0 for none. Epoch is the connection's.
	Number uint64
	Epoch  messages.Epoch
	// Frame is the packet as it will be delivered, with its true sender and one target.
	// Only Application has one. The Inbound owns one reference.
	Frame *wire.Frame
}

var inboundPool = sync.Pool{New: func() any { return new(Inbound) }}

// NewInbound returns an empty Inbound from the pool.
func NewInbound() *Inbound { return inboundPool.Get().(*Inbound) }

// Release returns the Inbound and its frame to their pools.
func (in *Inbound) Release() {
	if in.Frame != nil {
		in.Frame.Release()
	}
	*in = Inbound{}
	inboundPool.Put(in)
}

// inboundOverhead is the size of an Inbound without its frame, in bytes.
const inboundOverhead = 64

// Size implements stage.Sized.
func (in *Inbound) Size() int {
	if in.Frame == nil {
		return inboundOverhead
	}
	return inboundOverhead + in.Frame.Len()
}

// OnDeadLetter implements stage.DeadLetter.
func (in *Inbound) OnDeadLetter() { in.Release() }

// Post sends the Inbound to a game session. It returns the errors of stage.Ref.Post. After
// an error the Inbound still belongs to the caller.
func (in *Inbound) Post(session *stage.Ref) error { return session.Post(in, in.Size()) }

// PostRun is Post for a goroutine that may run the game session itself (see
// stage.Ref.PostRun).
func (in *Inbound) PostRun(session *stage.Ref) error { return session.PostRun(in, in.Size()) }

// PostBatch is Post for a goroutine that reads for many connections (see stage.Ref.PostBatch).
func (in *Inbound) PostBatch(session *stage.Ref, batch *stage.Batch) error {
	return session.PostBatch(in, in.Size(), batch)
}

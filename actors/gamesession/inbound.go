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
	// Nothing is a packet that the gateway has dropped; its number still counts as received.
	Nothing
)

// GroupOperation reports whether the limit on group operations applies to the kind.
func (k Kind) GroupOperation() bool {
	return k == JoinGroup || k == LeaveGroup || k == RequestMembership
}

// Inbound is a logged-in player's packet, decoded and checked by its connection's reader. It is pooled: either Post or Release it.
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
	// Frame is what is delivered: its true sender, one target. For Application only, if not for the game alone (Carry). One reference.
	Frame *wire.Frame

	// An application message without a frame.
	opCode, targetPlayer, targetGroup int32
	payload                           []byte // its memory stays with the Inbound
}

var inboundPool = sync.Pool{New: func() any { return new(Inbound) }}

// NewInbound returns an empty Inbound from the pool.
func NewInbound() *Inbound { return inboundPool.Get().(*Inbound) }

// unframedMax bounds the payload of a message without a frame, in bytes, and so what a pooled Inbound keeps.
const unframedMax = 512

// Carry takes h's application message as its recipients will see it, encoded only if it is not for the game alone. h is not kept.
func (in *Inbound) Carry(h *wire.Header) {
	if len(h.Payload) > unframedMax || route(h.OpCode, messages.PeerID(h.TargetPlayer), messages.GroupID(h.TargetGroup)) != toServer {
		in.Frame = wire.NewFrame(h)
		return
	}
	in.opCode, in.targetPlayer, in.targetGroup = h.OpCode, h.TargetPlayer, h.TargetGroup
	in.payload = append(in.payload, h.Payload...)
}

// ToOnePlayer reports whether it is an application message to one player.
func (in *Inbound) ToOnePlayer() bool { return in.Frame != nil && in.Frame.TargetPlayer() > 0 }

// Release returns the Inbound and its frame to their pools.
func (in *Inbound) Release() {
	if in.Frame != nil {
		in.Frame.Release()
	}
	*in = Inbound{payload: in.payload[:0]}
	inboundPool.Put(in)
}

// inboundOverhead is the size of an Inbound without its frame and payload, in bytes.
const inboundOverhead = 64

// Size implements stage.Sized.
func (in *Inbound) Size() int {
	if in.Frame == nil {
		return inboundOverhead + len(in.payload)
	}
	return inboundOverhead + in.Frame.Len()
}

// OnDeadLetter implements stage.DeadLetter.
func (in *Inbound) OnDeadLetter() { in.Release() }

// Post sends the Inbound to a game session, with stage.Ref.Post's errors. After an error it still belongs to the caller.
func (in *Inbound) Post(session *stage.Ref) error { return session.Post(in, in.Size()) }

// PostRun is Post for a goroutine that may run the game session (stage.Ref.PostRun).
func (in *Inbound) PostRun(session *stage.Ref) error { return session.PostRun(in, in.Size()) }

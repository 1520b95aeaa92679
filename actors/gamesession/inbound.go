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
	Application Kind = iota + 1 // an application message, to be routed
	JoinGroup
	LeaveGroup
	RequestMembership
	Ping // the PING packet, not the WebSocket control frame
	// Nothing stands for a packet that the gateway has dropped. Its number still counts as received.
	Nothing
)

// GroupOperation reports whether the limit on group operations applies to packets of this kind.
func (k Kind) GroupOperation() bool {
	return k == JoinGroup || k == LeaveGroup || k == RequestMembership
}

// Inbound is a packet from a logged-in player, decoded and checked by the connection's reader. It comes from a pool:
// call either Post or Release.
type Inbound struct {
	From *player.Handle
	Kind Kind
	// Group is the group of a group operation.
	Group messages.GroupID
	// Reliable is true for packets of the reliable channel.
	Reliable bool
	// Number is the packet's relSeq, or 0 if it has none. Epoch is the epoch of the packet's connection.
	Number uint64
	Epoch  messages.Epoch
	// Frame is the frame to deliver, with the true sender and one target. It is set only for Application packets that
	// are not for the game alone (see Carry). The Inbound owns one reference.
	Frame *wire.Frame

	// The following fields hold an application message without a frame.
	opCode, targetPlayer, targetGroup int32
	payload                           []byte // reused with the Inbound
}

var inboundPool = sync.Pool{New: func() any { return new(Inbound) }}

// NewInbound returns an empty Inbound from the pool.
func NewInbound() *Inbound { return inboundPool.Get().(*Inbound) }

// unframedMax limits the payload of a message without a frame, in bytes. It thereby limits the memory that a pooled
// Inbound keeps.
const unframedMax = 512

// Carry copies h's application message into the Inbound, as its recipients will see it. A short message that is only
// for the game is not encoded into a frame. Carry does not keep h.
func (in *Inbound) Carry(h *wire.Header) {
	if len(h.Payload) > unframedMax || route(h.OpCode, messages.PeerID(h.TargetPlayer), messages.GroupID(h.TargetGroup)) != toServer {
		in.Frame = wire.NewFrame(h)
		return
	}
	in.opCode, in.targetPlayer, in.targetGroup = h.OpCode, h.TargetPlayer, h.TargetGroup
	in.payload = append(in.payload, h.Payload...)
}

// ToOnePlayer reports whether the packet is an application message to one player.
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

// Post sends the Inbound to a game session. It returns the errors of stage.Ref.Post. After an error the caller still
// owns the Inbound.
func (in *Inbound) Post(session *stage.Ref) error { return session.Post(in, in.Size()) }

// PostRun is like Post, for a goroutine that may run the game session itself (stage.Ref.PostRun).
func (in *Inbound) PostRun(session *stage.Ref) error { return session.PostRun(in, in.Size()) }

package gateway

import (
	"troupe/actors/gamesession"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// classify decides from the header what a packet of a logged-in player is. It returns a kind of Inbound and its
// group, or the reason to drop the packet.
func classify(h *wire.Header) (kind gamesession.Kind, group messages.GroupID, drop counters.Drop) {
	switch {
	case h.OpCode == wire.OpLogin && h.Command == wire.CommandLogin:
		return 0, 0, counters.DropSecondLogin
	case wire.ServerOnly(h.OpCode):
		return 0, 0, counters.DropServerOp
	case len(h.Payload) > wire.PayloadMax:
		return 0, 0, counters.DropPayloadTooLarge
	}
	switch h.OpCode {
	case wire.OpJoinGroup:
		return groupOp(h, wire.CommandJoinGroup, gamesession.JoinGroup)
	case wire.OpLeaveGroup:
		return groupOp(h, wire.CommandLeaveGroup, gamesession.LeaveGroup)
	case wire.OpRequestGroupMembership:
		return groupOp(h, wire.CommandRequestGroupMembership, gamesession.RequestMembership)
	case wire.OpUDPConnect, wire.OpClientAck, wire.OpVerifyIdentity:
		return 0, 0, counters.DropWrongChannel // these belong to the fast channel
	case wire.OpPing: // D-113
		if h.Command == wire.CommandPing {
			return gamesession.Ping, 0, 0
		}
	}
	return gamesession.Application, 0, 0
}

func groupOp(h *wire.Header, want wire.Command, kind gamesession.Kind) (gamesession.Kind, messages.GroupID, counters.Drop) {
	g, err := wire.ParseGroup(h.Inner)
	if err != nil || h.Command != want {
		return 0, 0, counters.DropMalformed
	}
	return kind, messages.GroupID(g), 0
}

// delivered returns the header of an application message as its recipients see it. It has the true
// sender and only one target (realtime.md 10).
func delivered(h *wire.Header, sender messages.PeerID) wire.Header {
	out := wire.Header{OpCode: h.OpCode, Sender: int32(sender), TargetPlayer: h.TargetPlayer, TargetGroup: h.TargetGroup, Payload: h.Payload}
	switch {
	case h.TargetPlayer > 0:
		out.TargetGroup = 0
	case h.TargetPlayer != wire.ServerPeer:
		out.TargetPlayer = 0
	}
	return out
}

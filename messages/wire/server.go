package wire

// Frames of the server's own packets, from the server unless a function says otherwise. The caller must Release them.

// NewLoginResult builds LOGIN_RESPONSE for WebSocket; the zero result is a refusal. The peer id is in packet and inner message,
// which is always present: some clients read the one, some the other (realtime.md 6.2, 6.3). Strings must be valid UTF-8.
func NewLoginResult(r *LoginResult) *Frame {
	var room [512]byte
	return newFrame(&Header{
		OpCode: OpLoginResponse, TargetPlayer: r.PeerID, Sender: ServerPeer,
		Command: CommandLoginResult, Inner: r.append(room[:0]),
	})
}

// NewAck builds an empty packet, to be sent with AppendNumbered when no other can carry an acknowledgement.
func NewAck() *Frame { return newFrame(&Header{}) }

// NewMembershipUpdate builds GROUP_MEMBERSHIP_UPDATE for the peer target. Sender is the requester if it answers one, else ServerPeer.
// The list is packed, in an inner message even if empty: stock clients fail without (realtime.md 11). Players is not kept.
func NewMembershipUpdate(target, sender, group int32, players []int32) *Frame {
	var room [512]byte
	return newFrame(&Header{
		OpCode: OpGroupMembershipUpdate, TargetPlayer: target, Sender: sender,
		Command: CommandGroupMembershipUpdate, Inner: appendMembership(room[:0], group, players),
	})
}

// NewServerAck builds UDP_CONNECT_SERVER_ACK, to be sent with AppendFast, by UDP only: the round trip must prove that path.
func NewServerAck(peer int32) *Frame {
	return newFrame(&Header{
		OpCode: OpServerAck, TargetPlayer: peer, Sender: ServerPeer,
		Command: CommandUDPConnect,
	})
}

// NewVerifyIdentityResult builds VERIFY_IDENTITY_RESPONSE for r.PeerID. It goes by
// DTLS with AppendFast and by WebSocket with AppendReliable: the client has no retry.
func NewVerifyIdentityResult(r VerifyIdentityResult) *Frame {
	var room [16]byte
	return newFrame(&Header{
		OpCode: OpVerifyIdentityResponse, TargetPlayer: r.PeerID, Sender: ServerPeer,
		Command: CommandVerifyIdentityResult, Inner: r.append(room[:0]),
	})
}

// NewPingResult builds PING_RESULT for the channel by which the ping came (realtime.md 12).
func NewPingResult(target int32) *Frame {
	return newFrame(&Header{
		OpCode: OpPingResult, TargetPlayer: target, Sender: ServerPeer,
		Command: CommandPingResult,
	})
}

// NewPlayerConnect builds PLAYER_CONNECT about peer for target, which is off by default.
func NewPlayerConnect(target, peer int32) *Frame {
	return newPresence(OpPlayerConnect, CommandPlayerConnect, target, peer)
}

// NewPlayerDisconnect builds PLAYER_DISCONNECT about peer for target, which is off by default.
func NewPlayerDisconnect(target, peer int32) *Frame {
	return newPresence(OpPlayerDisconnect, CommandPlayerDisconnect, target, peer)
}

func newPresence(op int32, command Command, target, peer int32) *Frame {
	var room [16]byte
	return newFrame(&Header{
		OpCode: op, TargetPlayer: target, Sender: ServerPeer,
		Command: command, Inner: appendInt32(room[:0], fieldPresencePeerID, peer),
	})
}

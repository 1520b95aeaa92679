package wire

// Frames of the server's own packets. The sender is the server unless a function says otherwise. The caller must
// Release them.

// NewLoginResult builds LOGIN_RESPONSE for WebSocket. A zero result is a refusal. The peer id is both in the packet and
// in the inner message, because some clients read the one and some the other (realtime.md 6.2, 6.3). The inner message
// is always present. Strings must be valid UTF-8.
func NewLoginResult(r *LoginResult) *Frame {
	var room [512]byte
	return newFrame(&Header{
		OpCode: OpLoginResponse, TargetPlayer: r.PeerID, Sender: ServerPeer,
		Command: CommandLoginResult, Inner: r.append(room[:0]),
	})
}

// NewAck builds an empty packet. It is sent with AppendNumbered if no other packet can carry an acknowledgement.
func NewAck() *Frame { return newFrame(&Header{}) }

// NewMembershipUpdate builds GROUP_MEMBERSHIP_UPDATE for the peer target. If the update answers a request, sender is
// the requester; otherwise it is ServerPeer. The list is packed. There is an inner message even if the list is empty,
// because stock clients fail without it (realtime.md 11). players is not kept.
func NewMembershipUpdate(target, sender, group int32, players []int32) *Frame {
	var room [512]byte
	return newFrame(&Header{
		OpCode: OpGroupMembershipUpdate, TargetPlayer: target, Sender: sender,
		Command: CommandGroupMembershipUpdate, Inner: appendMembership(room[:0], group, players),
	})
}

// NewServerAck builds UDP_CONNECT_SERVER_ACK. It must be sent with AppendFast and only over UDP, because the round trip
// must prove that path.
func NewServerAck(peer int32) *Frame {
	return newFrame(&Header{
		OpCode: OpServerAck, TargetPlayer: peer, Sender: ServerPeer,
		Command: CommandUDPConnect,
	})
}

// NewVerifyIdentityResult builds VERIFY_IDENTITY_RESPONSE for r.PeerID. It is sent both over DTLS (AppendFast) and over
// WebSocket (AppendReliable), because the client does not retry.
func NewVerifyIdentityResult(r VerifyIdentityResult) *Frame {
	var room [16]byte
	return newFrame(&Header{
		OpCode: OpVerifyIdentityResponse, TargetPlayer: r.PeerID, Sender: ServerPeer,
		Command: CommandVerifyIdentityResult, Inner: r.append(room[:0]),
	})
}

// NewPingResult builds PING_RESULT. It must be sent on the channel on which the ping arrived (realtime.md 12).
func NewPingResult(target int32) *Frame {
	return newFrame(&Header{
		OpCode: OpPingResult, TargetPlayer: target, Sender: ServerPeer,
		Command: CommandPingResult,
	})
}

// NewPlayerConnect builds PLAYER_CONNECT about peer for target. This packet is off by default.
func NewPlayerConnect(target, peer int32) *Frame {
	return newPresence(OpPlayerConnect, CommandPlayerConnect, target, peer)
}

// NewPlayerDisconnect builds PLAYER_DISCONNECT about peer for target. This packet is off by default.
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

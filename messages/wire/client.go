package wire

// Units that a client sends. Each function appends one complete unit to dst and returns the result. None allocates
// memory if dst has enough capacity. peer is the client's own peer id. seq is the client's fast-channel counter
// (realtime.md 9), or 0 for a unit that is sent on the WebSocket.

// AppendMessage appends the unit of any packet with all fields of h. On the fast channel an application message must
// have a Sequence (realtime.md 5).
func AppendMessage(dst []byte, h *Header) []byte {
	return h.Append(appendVarint(dst, uint64(h.Size())))
}

// AppendLogin appends LOGIN, the first packet on a WebSocket. payload is for the game and has at most PayloadMax bytes.
// Strings must be valid UTF-8.
func AppendLogin(dst []byte, l *Login, payload []byte) []byte {
	var room [256]byte
	return AppendMessage(dst, &Header{
		OpCode: OpLogin, TargetPlayer: ServerPeer, Reliable: true,
		Payload: payload, Command: CommandLogin, Inner: l.append(room[:0]),
	})
}

// AppendAck appends an acknowledgement as a separate packet. The packet is reliable, has op code 0, and contains only
// the number.
func AppendAck(dst []byte, ack uint64) []byte {
	return AppendMessage(dst, &Header{Reliable: true, Ack: ack})
}

// AppendUDPConnect appends UDP_CONNECT, step 1 of the UDP handshake.
func AppendUDPConnect(dst []byte, peer, seq int32) []byte {
	return appendHandshake(dst, OpUDPConnect, peer, seq)
}

// AppendClientAck appends UDP_CONNECT_CLIENT_ACK, step 3 of the UDP handshake.
func AppendClientAck(dst []byte, peer, seq int32) []byte {
	return appendHandshake(dst, OpClientAck, peer, seq)
}

func appendHandshake(dst []byte, op, peer, seq int32) []byte {
	return AppendMessage(dst, &Header{
		OpCode: op, Sequence: seq, TargetPlayer: ServerPeer, Sender: peer,
		Command: CommandUDPConnect,
	})
}

// AppendVerifyIdentity appends VERIFY_IDENTITY, which is sent once on a new DTLS association. payload repeats the
// connection payload.
func AppendVerifyIdentity(dst []byte, v *VerifyIdentity, seq int32, payload []byte) []byte {
	var room [256]byte
	return AppendMessage(dst, &Header{
		OpCode: OpVerifyIdentity, Sequence: seq, Sender: v.PeerID,
		Payload: payload, Command: CommandVerifyIdentity, Inner: v.append(room[:0]),
	})
}

// AppendGroupCommand appends JOIN_GROUP, LEAVE_GROUP or REQUEST_GROUP_MEMBERSHIP. For other op codes there is no inner
// message. Official clients send these commands with reliable set to false, and on the fast channel once it is ready.
func AppendGroupCommand(dst []byte, op, group, peer, seq int32, reliable bool) []byte {
	var room [16]byte
	h := Header{
		OpCode: op, Sequence: seq, TargetPlayer: ServerPeer, Sender: peer, Reliable: reliable,
	}
	switch op {
	case OpJoinGroup:
		h.Command = CommandJoinGroup
	case OpLeaveGroup:
		h.Command = CommandLeaveGroup
	case OpRequestGroupMembership:
		h.Command = CommandRequestGroupMembership
	}
	if h.Command != CommandNone {
		h.Inner = appendGroup(room[:0], group)
	}
	return AppendMessage(dst, &h)
}

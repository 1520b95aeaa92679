package wire

import "strconv"

// Op codes (realtime.md 4.1). A connection starts with LOGIN and LOGIN_RESPONSE. The fast channel is set up with -5, -6
// and -7 on plain UDP or with -14 and -15 on DTLS. All positive op codes, and negative ones not listed here, carry the
// game's messages in payload. C is a client and S the server.
const (
	OpLogin                  int32 = 0      // C to S, WebSocket; login, payload: connection payload
	OpLoginResponse          int32 = -1     // S to C, WebSocket; loginResult
	OpPing                   int32 = -2     // C to S; ping. No known client sends it
	OpPingResult             int32 = -3     // S to C; pingResult
	OpUDPConnect             int32 = -5     // C to S, UDP; udpConnect. Handshake step 1
	OpServerAck              int32 = -6     // S to C, UDP; udpConnect. Handshake step 2
	OpClientAck              int32 = -7     // C to S, UDP; udpConnect. Handshake step 3
	OpPlayerReady            int32 = -8     // never used by any client
	OpJoinGroup              int32 = -10    // C to S; joinGroup
	OpLeaveGroup             int32 = -11    // C to S; leaveGroup
	OpRequestGroupMembership int32 = -12    // C to S; requestGroupMembership
	OpGroupMembershipUpdate  int32 = -13    // S to C; groupMembershipUpdate
	OpVerifyIdentity         int32 = -14    // C to S, DTLS; verifyIdentity, payload: connection payload
	OpVerifyIdentityResponse int32 = -15    // S to C; verifyIdentityResult
	OpPlayerConnect          int32 = -101   // S to C; playerConnect. Off by default
	OpPlayerDisconnect       int32 = -103   // S to C; playerDisconnect. Off by default
	OpGameStart              int32 = -1000  // S to C; no content
	OpGameEnd                int32 = -1001  // S to C; no content
	OpNull                   int32 = -99999 // sentinel, never on the wire
)

// Reserved ids (realtime.md 4.2).
const (
	// ServerPeer is the server itself, as a sender or as a target player.
	ServerPeer int32 = -1
	// NoPeer means no target player. It is also the sender of a client that is not logged in.
	NoPeer int32 = 0
	// AllPlayers is the group of all players of a game session.
	AllPlayers int32 = -1
	// NoGroup means no target group. Groups created by the game have positive ids.
	NoGroup int32 = 0
)

// OpCode gives op codes names for logs. Packets carry op codes as int32.
type OpCode int32

var opNames = map[int32]string{
	OpLogin:                  "LOGIN",
	OpLoginResponse:          "LOGIN_RESPONSE",
	OpPing:                   "PING",
	OpPingResult:             "PING_RESULT",
	OpUDPConnect:             "UDP_CONNECT",
	OpServerAck:              "UDP_CONNECT_SERVER_ACK",
	OpClientAck:              "UDP_CONNECT_CLIENT_ACK",
	OpPlayerReady:            "PLAYER_READY",
	OpJoinGroup:              "JOIN_GROUP",
	OpLeaveGroup:             "LEAVE_GROUP",
	OpRequestGroupMembership: "REQUEST_GROUP_MEMBERSHIP",
	OpGroupMembershipUpdate:  "GROUP_MEMBERSHIP_UPDATE",
	OpVerifyIdentity:         "VERIFY_IDENTITY",
	OpVerifyIdentityResponse: "VERIFY_IDENTITY_RESPONSE",
	OpPlayerConnect:          "PLAYER_CONNECT",
	OpPlayerDisconnect:       "PLAYER_DISCONNECT",
	OpGameStart:              "GAME_START",
	OpGameEnd:                "GAME_END",
	OpNull:                   "NULL",
}

// String returns the name in the protocol, or the number for op codes of games.
func (op OpCode) String() string {
	if name, known := opNames[int32(op)]; known {
		return name
	}
	return strconv.Itoa(int(op))
}

// ServerOnly reports whether only the server may send op. If a client sends it, the packet is dropped and logged,
// because relaying it would forge a built-in packet.
func ServerOnly(op int32) bool {
	switch op { // D-136
	case OpLoginResponse, OpPingResult, OpServerAck,
		OpGroupMembershipUpdate, OpVerifyIdentityResponse,
		OpPlayerConnect, OpPlayerDisconnect, OpGameStart, OpGameEnd:
		return true
	}
	return false
}

// BuiltIn reports whether a client's packet is a command to the server and not an application message (realtime.md 10).
// LOGIN and PING are commands only if they have their inner message. All other packets are routed by their targets,
// unless ServerOnly drops them.
func BuiltIn(op int32, command Command) bool {
	switch op {
	case OpLogin:
		return command == CommandLogin
	case OpPing:
		return command == CommandPing
	case OpUDPConnect, OpClientAck,
		OpJoinGroup, OpLeaveGroup, OpRequestGroupMembership, OpVerifyIdentity:
		return true
	}
	return false
}

package wire

import "strconv"

// Command says which member of a packet's oneof is present. Its value is the field number (realtime.md 3.1).
type Command uint8

// Values of Command. CommandNone means that no member is present, as in application messages.
const (
	CommandNone                   Command = 0
	CommandLogin                  Command = 30
	CommandLoginResult            Command = 31
	CommandPing                   Command = 32
	CommandPingResult             Command = 33
	CommandUDPConnect             Command = 34
	CommandPlayerConnect          Command = 35
	CommandPlayerDisconnect       Command = 36
	CommandVerifyIdentity         Command = 37
	CommandVerifyIdentityResult   Command = 38
	CommandJoinGroup              Command = 40
	CommandLeaveGroup             Command = 41
	CommandRequestGroupMembership Command = 42
	CommandGroupMembershipUpdate  Command = 43
)

// isCommand reports whether a field number is a member of the oneof.
func isCommand(number uint64) bool {
	return number >= uint64(CommandLogin) && number <= uint64(CommandGroupMembershipUpdate) && number != 39
}

var commandNames = map[Command]string{
	CommandNone:                   "none",
	CommandLogin:                  "login",
	CommandLoginResult:            "loginResult",
	CommandPing:                   "ping",
	CommandPingResult:             "pingResult",
	CommandUDPConnect:             "udpConnect",
	CommandPlayerConnect:          "playerConnect",
	CommandPlayerDisconnect:       "playerDisconnect",
	CommandVerifyIdentity:         "verifyIdentity",
	CommandVerifyIdentityResult:   "verifyIdentityResult",
	CommandJoinGroup:              "joinGroup",
	CommandLeaveGroup:             "leaveGroup",
	CommandRequestGroupMembership: "requestGroupMembership",
	CommandGroupMembershipUpdate:  "groupMembershipUpdate",
}

// String returns the name of the field in packet.proto.
func (c Command) String() string {
	if name, known := commandNames[c]; known {
		return name
	}
	return "command " + strconv.Itoa(int(c))
}

// hasString reports whether a field of the inner message is a string, which must be valid UTF-8.
func (c Command) hasString(number uint64) bool {
	switch c {
	case CommandLogin:
		return number == fieldLoginPlayerSessionID || number == fieldLoginReconnectToken
	case CommandLoginResult:
		return number == fieldResultReconnectToken || number == fieldResultConnectToken || number == fieldResultEndpoints || number == fieldResultAlternate
	case CommandVerifyIdentity:
		return number == fieldVerifyConnectToken
	}
	return false
}

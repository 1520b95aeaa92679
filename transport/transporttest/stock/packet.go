package stock

// Op codes that the protocol defines.
const (
	OpLogin                  int32 = 0
	OpLoginResponse          int32 = -1
	OpPing                   int32 = -2
	OpPingResult             int32 = -3
	OpUDPConnect             int32 = -5
	OpServerAck              int32 = -6
	OpClientAck              int32 = -7
	OpPlayerReady            int32 = -8
	OpJoinGroup              int32 = -10
	OpLeaveGroup             int32 = -11
	OpRequestGroupMembership int32 = -12
	OpGroupMembershipUpdate  int32 = -13
	OpVerifyIdentity         int32 = -14
	OpVerifyIdentityResponse int32 = -15
	OpPlayerConnect          int32 = -101
	OpPlayerDisconnect       int32 = -103
	OpGameStart              int32 = -1000
	OpGameEnd                int32 = -1001
)

// Reserved ids, and limits that the stock clients enforce.
const (
	ServerID       int32 = -1   // the server, as a target player or a sender
	AllPlayers     int32 = -1   // every player, as a target group
	PayloadMax           = 4096 // maximum bytes of payload that the stock clients send
	FastPayloadMax       = 1200 // a message with more bytes of payload goes by WebSocket
	ProtocolClient int32 = 2    // client version in LOGIN
)

// Packet is the only top-level message. In a received packet, at most one of the pointers is set.
// [EncodePacket] encodes everything that is set, so a test can create packets that no client would send. The
// JSON tags produce the proto3 JSON form.
type Packet struct {
	OpCode         int32
	SequenceNumber int32
	TargetPlayer   int32
	TargetGroup    int32
	Sender         int32
	Reliable       bool
	ClientVersion  int32
	Payload        []byte

	Login                  *LoginCommand
	LoginResult            *LoginResult
	Ping                   *Empty
	PingResult             *Empty
	UDPConnect             *Empty
	PlayerConnect          *PlayerRef
	PlayerDisconnect       *PlayerRef
	VerifyIdentity         *VerifyIdentity
	VerifyIdentityResult   *VerifyIdentityResult
	JoinGroup              *GroupRef
	LeaveGroup             *GroupRef
	RequestGroupMembership *GroupRef
	GroupMembershipUpdate  *GroupMembershipUpdate

	// UnknownFields has the numbers of decoded fields that a stock client does not know, including those of
	// an inner message. It is not encoded.
	UnknownFields []int32
}

// LoginCommand is the inner message of LOGIN.
type LoginCommand struct {
	PlayerSessionID string
	ClientVersion   int32
}

// LoginResult is the inner message of LOGIN_RESPONSE.
type LoginResult struct {
	Success        bool
	ReconnectToken string
	PeerID         int32
	FastPort       int32
	CACert         []byte
	ConnectToken   string
}

// Empty is an inner message without fields: ping, pingResult or udpConnect.
type Empty struct{}

// PlayerRef is the inner message of PLAYER_CONNECT and PLAYER_DISCONNECT.
type PlayerRef struct {
	PeerID int32
}

// VerifyIdentity is the inner message of VERIFY_IDENTITY.
type VerifyIdentity struct {
	PeerID       int32
	ConnectToken string
}

// VerifyIdentityResult is the inner message of VERIFY_IDENTITY_RESPONSE.
type VerifyIdentityResult struct {
	Success bool
	PeerID  int32
}

// GroupRef is the inner message of the three group commands.
type GroupRef struct {
	Group int32
}

// GroupMembershipUpdate is the inner message of GROUP_MEMBERSHIP_UPDATE.
type GroupMembershipUpdate struct {
	Group   int32
	Players []int32

	// Unpacked means that players are encoded with one field per element. The TypeScript client cannot decode
	// that form.
	Unpacked bool
}

// InnerName returns the protobuf name of the inner message, or "" if there is none.
func (p *Packet) InnerName() string {
	switch {
	case p.Login != nil:
		return "login"
	case p.LoginResult != nil:
		return "loginResult"
	case p.Ping != nil:
		return "ping"
	case p.PingResult != nil:
		return "pingResult"
	case p.UDPConnect != nil:
		return "udpConnect"
	case p.PlayerConnect != nil:
		return "playerConnect"
	case p.PlayerDisconnect != nil:
		return "playerDisconnect"
	case p.VerifyIdentity != nil:
		return "verifyIdentity"
	case p.VerifyIdentityResult != nil:
		return "verifyIdentityResult"
	case p.JoinGroup != nil:
		return "joinGroup"
	case p.LeaveGroup != nil:
		return "leaveGroup"
	case p.RequestGroupMembership != nil:
		return "requestGroupMembership"
	case p.GroupMembershipUpdate != nil:
		return "groupMembershipUpdate"
	}
	return ""
}

func (p *Packet) clearInner() {
	p.Login, p.LoginResult, p.Ping, p.PingResult, p.UDPConnect = nil, nil, nil, nil, nil
	p.PlayerConnect, p.PlayerDisconnect, p.VerifyIdentity, p.VerifyIdentityResult = nil, nil, nil, nil
	p.JoinGroup, p.LeaveGroup, p.RequestGroupMembership, p.GroupMembershipUpdate = nil, nil, nil, nil
}

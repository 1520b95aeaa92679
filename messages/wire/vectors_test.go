package wire

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
)

// vector is one line of realtime.md 14.2: a whole unit, the values that it decodes to, and the call that encodes it.
type vector struct {
	name   string
	unit   string // hex
	header Header // Inner is compared by means of the field inner
	inner  any    // the result of the command's parser; nil if the command has no parser
	encode func() []byte
}

var (
	loginVector  = Login{PlayerSessionID: "psess-1", ClientVersion: ClientVersion}
	resultVector = LoginResult{Success: true, PeerID: 1, FastPort: 33400, ConnectToken: "tok"}
)

// vectors is the table of realtime.md 14.2, in the same order.
var vectors = []vector{
	{
		name:   "LOGIN from C#",
		unit:   "1b18ffffffffffffffffff013001f2010b0a0770736573732d311002",
		header: Header{TargetPlayer: ServerPeer, Reliable: true, Command: CommandLogin},
		inner:  loginVector,
		encode: func() []byte { return AppendLogin(nil, &loginVector, nil) },
	},
	{
		name:   "LOGIN from TS",
		unit:   "2618ffffffffffffffffff0120ffffffffffffffffff013001f2010b0a0770736573732d311002",
		header: Header{TargetPlayer: ServerPeer, TargetGroup: AllPlayers, Reliable: true, Command: CommandLogin},
		inner:  loginVector,
		encode: func() []byte {
			return AppendMessage(nil, &Header{
				TargetPlayer: ServerPeer, TargetGroup: AllPlayers, Reliable: true,
				Command: CommandLogin, Inner: loginVector.append(nil),
			})
		},
	},
	{
		name:   "LOGIN_RESPONSE ok",
		unit:   "210801180128ffffffffffffffffff013001fa010d0801180120f884023203746f6b",
		header: Header{OpCode: OpLoginResponse, TargetPlayer: 1, Sender: ServerPeer, Reliable: true, Command: CommandLoginResult},
		inner:  resultVector,
		encode: func() []byte { return reliable(NewLoginResult(&resultVector)) },
	},
	{
		name:   "LOGIN_RESPONSE refused",
		unit:   "12080128ffffffffffffffffff013001fa0100",
		header: Header{OpCode: OpLoginResponse, Sender: ServerPeer, Reliable: true, Command: CommandLoginResult},
		inner:  LoginResult{},
		encode: func() []byte { return reliable(NewLoginResult(&LoginResult{})) },
	},
	{
		name:   "UDP_CONNECT",
		unit:   "12080918ffffffffffffffffff012801920200",
		header: Header{OpCode: OpUDPConnect, TargetPlayer: ServerPeer, Sender: 1, Command: CommandUDPConnect},
		encode: func() []byte { return AppendUDPConnect(nil, 1, 0) },
	},
	{
		name:   "SERVER_ACK",
		unit:   "12080b180128ffffffffffffffffff01920200",
		header: Header{OpCode: OpServerAck, TargetPlayer: 1, Sender: ServerPeer, Command: CommandUDPConnect},
		encode: func() []byte { return fast(NewServerAck(1), 0) },
	},
	{
		name:   "CLIENT_ACK seq 1",
		unit:   "14080d100118ffffffffffffffffff012801920200",
		header: Header{OpCode: OpClientAck, Sequence: 1, TargetPlayer: ServerPeer, Sender: 1, Command: CommandUDPConnect},
		encode: func() []byte { return AppendClientAck(nil, 1, 1) },
	},
	{
		name:   "VERIFY_IDENTITY",
		unit:   "0e081b2801aa020708011203746f6b",
		header: Header{OpCode: OpVerifyIdentity, Sender: 1, Command: CommandVerifyIdentity},
		inner:  VerifyIdentity{PeerID: 1, ConnectToken: "tok"},
		encode: func() []byte {
			return AppendVerifyIdentity(nil, &VerifyIdentity{PeerID: 1, ConnectToken: "tok"}, 0, nil)
		},
	},
	{
		name:   "VERIFY_IDENTITY_RESPONSE",
		unit:   "16081d180128ffffffffffffffffff01b2020408011001",
		header: Header{OpCode: OpVerifyIdentityResponse, TargetPlayer: 1, Sender: ServerPeer, Command: CommandVerifyIdentityResult},
		inner:  VerifyIdentityResult{Success: true, PeerID: 1},
		encode: func() []byte {
			return fast(NewVerifyIdentityResult(VerifyIdentityResult{Success: true, PeerID: 1}), 0)
		},
	},
	{
		name:   "JOIN_GROUP",
		unit:   "16081318ffffffffffffffffff0128013001c202020801",
		header: Header{OpCode: OpJoinGroup, TargetPlayer: ServerPeer, Sender: 1, Reliable: true, Command: CommandJoinGroup},
		inner:  int32(1),
		encode: func() []byte { return AppendGroupCommand(nil, OpJoinGroup, 1, 1, 0, true) },
	},
	{
		name:   "GROUP_MEMBERSHIP_UPDATE",
		unit:   "1a0819180128ffffffffffffffffff013001da0206080112020102",
		header: Header{OpCode: OpGroupMembershipUpdate, TargetPlayer: 1, Sender: ServerPeer, Reliable: true, Command: CommandGroupMembershipUpdate},
		inner:  Membership{Group: 1, Players: []int32{1, 2}},
		encode: func() []byte { return reliable(NewMembershipUpdate(1, ServerPeer, 1, []int32{1, 2})) },
	},
	{
		name:   "op 10 to server, reliable",
		unit:   "15081418ffffffffffffffffff01280130017a026869",
		header: Header{OpCode: 10, TargetPlayer: ServerPeer, Sender: 1, Reliable: true, Payload: []byte("hi")},
		encode: func() []byte {
			return reliable(NewFrame(&Header{OpCode: 10, TargetPlayer: ServerPeer, Sender: 1, Payload: []byte("hi")}))
		},
	},
	{
		name:   "op 301 to group -1, fast",
		unit:   "1308da0420ffffffffffffffffff0128017a0101",
		header: Header{OpCode: 301, TargetGroup: AllPlayers, Sender: 1, Payload: []byte{1}},
		encode: func() []byte {
			return fast(NewFrame(&Header{OpCode: 301, TargetGroup: AllPlayers, Sender: 1, Payload: []byte{1}}), 0)
		},
	},
}

// reliable encodes a frame once for the WebSocket and releases the frame.
func reliable(f *Frame) []byte {
	defer f.Release()
	return f.AppendReliable(nil)
}

func fast(f *Frame, seq int32) []byte {
	defer f.Release()
	return f.AppendFast(nil, seq)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parseInner calls the parser of h's command. It returns nil if the command has no parser.
func parseInner(h *Header) (any, error) {
	switch h.Command {
	case CommandLogin:
		return ParseLogin(h.Inner)
	case CommandLoginResult:
		return ParseLoginResult(h.Inner)
	case CommandVerifyIdentity:
		return ParseVerifyIdentity(h.Inner)
	case CommandVerifyIdentityResult:
		return ParseVerifyIdentityResult(h.Inner)
	case CommandJoinGroup, CommandLeaveGroup, CommandRequestGroupMembership:
		return ParseGroup(h.Inner)
	case CommandGroupMembershipUpdate:
		return ParseMembership(h.Inner)
	}
	return nil, nil
}

// RT-3.
func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			if got := v.encode(); !bytes.Equal(got, unhex(t, v.unit)) {
				t.Errorf("encoded\n%x, want\n%s", got, v.unit)
			}
			packet, err := SplitUnit(unhex(t, v.unit))
			if err != nil {
				t.Fatal(err)
			}
			var h Header
			if err := h.Parse(packet); err != nil {
				t.Fatal(err)
			}
			inner, err := parseInner(&h)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(inner, v.inner) {
				t.Errorf("inner message %+v, want %+v", inner, v.inner)
			}
			again := AppendMessage(nil, &h)
			if !bytes.Equal(again, unhex(t, v.unit)) {
				t.Errorf("encoded again\n%x, want\n%s", again, v.unit)
			}
			h.Inner = nil
			if !reflect.DeepEqual(h, v.header) {
				t.Errorf("header %+v, want %+v", h, v.header)
			}
		})
	}
}

// Only the op code uses zigzag encoding: -101 becomes 201. A plain int32 would take ten bytes. RT-4.
func TestOpCodeIsZigzag(t *testing.T) {
	for op, want := range map[int32]string{
		-101: "0308c901", 10: "020814", -1: "020801", 0: "00",
		-1 << 31: "0608ffffffff0f", 1<<31 - 1: "0608feffffff0f",
	} {
		unit := AppendMessage(nil, &Header{OpCode: op})
		if !bytes.Equal(unit, unhex(t, want)) {
			t.Errorf("op code %d encodes as %x, want %s", op, unit, want)
		}
		var h Header
		if err := h.Parse(unit[1:]); err != nil || h.OpCode != op {
			t.Errorf("op code %d decodes as %d, %v", op, h.OpCode, err)
		}
	}
}

// RT-6.
func TestAbsentOpCodeWithLoginIsLogin(t *testing.T) {
	var h Header
	if err := h.Parse(unhex(t, vectors[0].unit)[1:]); err != nil {
		t.Fatal(err)
	}
	if h.OpCode != OpLogin || !BuiltIn(h.OpCode, h.Command) {
		t.Errorf("op code %d, command %v: not taken for a login", h.OpCode, h.Command)
	}
	if BuiltIn(OpLogin, CommandNone) {
		t.Error("op code 0 without inner login is taken for a login")
	}
}

// RT-41.
func TestServerOnlyOpCodes(t *testing.T) {
	listed := map[int32]bool{-1: true, -3: true, -6: true, -13: true, -15: true, -101: true, -103: true, -1000: true, -1001: true}
	for op := int32(-1100); op < 100; op++ {
		if ServerOnly(op) != listed[op] {
			t.Errorf("ServerOnly(%d) = %v", op, ServerOnly(op))
		}
		if ServerOnly(op) && BuiltIn(op, CommandNone) {
			t.Errorf("op code %d is both a client's and the server's", op)
		}
	}
}

// RT-48.
func TestEmptyMembershipHasInnerMessage(t *testing.T) {
	unit := reliable(NewMembershipUpdate(1, 1, 7, nil))
	var h Header
	if err := h.Parse(unit[1:]); err != nil {
		t.Fatal(err)
	}
	m, err := ParseMembership(h.Inner)
	if err != nil || h.Command != CommandGroupMembershipUpdate || m.Group != 7 || len(m.Players) != 0 {
		t.Errorf("decoded %v %+v, %v", h.Command, m, err)
	}
}

// RT-50.
func TestPlayersPacked(t *testing.T) {
	unit := reliable(NewMembershipUpdate(1, ServerPeer, 3, []int32{1, 2, 300}))
	if want := unhex(t, "080312040102ac02"); !bytes.HasSuffix(unit, want) {
		t.Errorf("unit %x does not end in the packed list %x", unit, want)
	}
	unpacked, err := ParseMembership(unhex(t, "08031001100210ac02"))
	if err != nil || !reflect.DeepEqual(unpacked, Membership{Group: 3, Players: []int32{1, 2, 300}}) {
		t.Errorf("an unpacked list decodes as %+v, %v", unpacked, err)
	}
}

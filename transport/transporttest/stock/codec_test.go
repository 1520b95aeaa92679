package stock

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
)

// vectors are the test vectors of realtime.md 14.2.
var vectors = []struct {
	name string
	hex  string
	p    Packet
}{
	{
		"LOGIN C#", "1b18ffffffffffffffffff013001f2010b0a0770736573732d311002",
		LoginPacket(CSharp, "psess-1", nil),
	},
	{
		"LOGIN TypeScript", "2618ffffffffffffffffff0120ffffffffffffffffff013001f2010b0a0770736573732d311002",
		LoginPacket(TypeScript, "psess-1", nil),
	},
	{
		"LOGIN_RESPONSE ok", "210801180128ffffffffffffffffff013001fa010d0801180120f884023203746f6b",
		Packet{
			OpCode: OpLoginResponse, TargetPlayer: 1, Sender: ServerID, Reliable: true,
			LoginResult: &LoginResult{Success: true, PeerID: 1, FastPort: 33400, ConnectToken: "tok"},
		},
	},
	{
		"LOGIN_RESPONSE refused", "12080128ffffffffffffffffff013001fa0100",
		Packet{OpCode: OpLoginResponse, Sender: ServerID, Reliable: true, LoginResult: &LoginResult{}},
	},
	{
		"UDP_CONNECT", "12080918ffffffffffffffffff012801920200",
		Packet{OpCode: OpUDPConnect, TargetPlayer: ServerID, Sender: 1, UDPConnect: &Empty{}},
	},
	{
		"SERVER_ACK", "12080b180128ffffffffffffffffff01920200",
		Packet{OpCode: OpServerAck, TargetPlayer: 1, Sender: ServerID, UDPConnect: &Empty{}},
	},
	{
		"CLIENT_ACK", "14080d100118ffffffffffffffffff012801920200",
		Packet{OpCode: OpClientAck, SequenceNumber: 1, TargetPlayer: ServerID, Sender: 1, UDPConnect: &Empty{}},
	},
	{
		"VERIFY_IDENTITY", "0e081b2801aa020708011203746f6b",
		Packet{OpCode: OpVerifyIdentity, Sender: 1, VerifyIdentity: &VerifyIdentity{PeerID: 1, ConnectToken: "tok"}},
	},
	{
		"VERIFY_IDENTITY_RESPONSE", "16081d180128ffffffffffffffffff01b2020408011001",
		Packet{
			OpCode: OpVerifyIdentityResponse, TargetPlayer: 1, Sender: ServerID,
			VerifyIdentityResult: &VerifyIdentityResult{Success: true, PeerID: 1},
		},
	},
	{
		"JOIN_GROUP", "16081318ffffffffffffffffff0128013001c202020801",
		Packet{
			OpCode: OpJoinGroup, TargetPlayer: ServerID, Sender: 1, Reliable: true, JoinGroup: &GroupRef{Group: 1},
		},
	},
	{
		"GROUP_MEMBERSHIP_UPDATE", "1a0819180128ffffffffffffffffff013001da0206080112020102",
		Packet{
			OpCode: OpGroupMembershipUpdate, TargetPlayer: 1, Sender: ServerID, Reliable: true,
			GroupMembershipUpdate: &GroupMembershipUpdate{Group: 1, Players: []int32{1, 2}},
		},
	},
	{
		"op 10 to the server", "15081418ffffffffffffffffff01280130017a026869",
		Packet{OpCode: 10, TargetPlayer: ServerID, Sender: 1, Reliable: true, Payload: []byte("hi")},
	},
	{
		"op 301 to all", "1308da0420ffffffffffffffffff0128017a0101",
		Packet{OpCode: 301, TargetGroup: AllPlayers, Sender: 1, Payload: []byte{1}},
	},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			if got := hex.EncodeToString(EncodeUnit(v.p)); got != v.hex {
				t.Errorf("encoded\n %s, want\n %s", got, v.hex)
			}
			body, rest, err := SplitUnit(unhex(t, v.hex))
			if err != nil || len(rest) != 0 {
				t.Fatalf("split: rest %x, error %v", rest, err)
			}
			got, err := DecodePacket(body)
			if err != nil || !reflect.DeepEqual(got, v.p) {
				t.Errorf("decoded %+v, %v, want %+v", got, err, v.p)
			}
		})
	}
}

func TestOpCodeIsZigzag(t *testing.T) {
	for op, want := range map[int32]string{
		-101: "08c901", 1: "0802", 0: "", -1 << 31: "08ffffffff0f", 1<<31 - 1: "08feffffff0f",
	} {
		raw := EncodePacket(Packet{OpCode: op})
		if got := hex.EncodeToString(raw); got != want {
			t.Errorf("op %d is %s, want %s", op, got, want)
		}
		if p, err := DecodePacket(raw); err != nil || p.OpCode != op {
			t.Errorf("op %d came back as %d, %v", op, p.OpCode, err)
		}
	}
}

func TestEveryInnerMessageReturns(t *testing.T) {
	for _, p := range []Packet{
		{Ping: &Empty{}},
		{PingResult: &Empty{}},
		{PlayerConnect: &PlayerRef{PeerID: 3}},
		{PlayerDisconnect: &PlayerRef{PeerID: -4}},
		{LeaveGroup: &GroupRef{Group: 5}},
		{RequestGroupMembership: &GroupRef{Group: -1}},
		{GroupMembershipUpdate: &GroupMembershipUpdate{}},
		{GroupMembershipUpdate: &GroupMembershipUpdate{Players: []int32{0, -1, 300}, Unpacked: true}},
		{LoginResult: &LoginResult{ReconnectToken: "r", CACert: []byte("pem")}, ClientVersion: 2},
	} {
		got, err := DecodePacket(EncodePacket(p))
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: decoded %+v, %v, want %+v", p.InnerName(), got, err, p)
		}
	}
}

func TestDecodeRules(t *testing.T) {
	for _, test := range []struct {
		name, hex string
		want      Packet
	}{
		{"empty", "", Packet{}},
		{"last value wins", "18011802", Packet{TargetPlayer: 2}},
		{"last inner message wins", "c202020801ca02020802", Packet{LeaveGroup: &GroupRef{Group: 2}}},
		{"same inner message merges", "fa01020801fa01021807", Packet{LoginResult: &LoginResult{Success: true, PeerID: 7}}},
		{"unknown fields", "ca3e0105" + "1807", Packet{TargetPlayer: 7, UnknownFields: []int32{1001}}},
		{"fixed width unknown", "8d3e00000000" + "913e0000000000000000", Packet{UnknownFields: []int32{993, 994}}},
		{"unknown field inside", "c202" + "04" + "08014801", Packet{JoinGroup: &GroupRef{Group: 1}, UnknownFields: []int32{9}}},
		{"wrong wire type", "1a0101", Packet{UnknownFields: []int32{3}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := DecodePacket(unhex(t, test.hex))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"cut varint":         "08",
		"cut bytes":          "7a0561",
		"field number zero":  "0001",
		"group wire type":    "0b",
		"cut fixed":          "8d3e0000",
		"endless varint":     "08ffffffffffffffffffff01",
		"bad players":        "da02021280",
		"bad packed players": "da0203120180",
		"bad inner":          "fa010108",
	} {
		if p, err := DecodePacket(unhex(t, raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
	for name, raw := range map[string]string{"nothing": "", "cut length": "80", "too long": "0208"} {
		if _, _, err := SplitUnit(unhex(t, raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("unit, %s: got %v", name, err)
		}
	}
}

// TestTrailingBytes: the C# client reads only the first unit, and the TypeScript client fails on the bytes
// after it.
func TestTrailingBytes(t *testing.T) {
	raw := append(EncodeUnit(Packet{OpCode: 10, TargetPlayer: 3}), EncodeUnit(Packet{OpCode: 11})...)
	if e := decodeEvent(CSharp, raw, false); e.Err != nil || e.OpCode != 10 || e.Trailing != 3 {
		t.Errorf("C#: %v, trailing %d", e, e.Trailing)
	}
	if e := decodeEvent(TypeScript, raw, false); e.Err == nil && e.OpCode == 10 && e.UnknownFields == nil {
		t.Errorf("TypeScript read it as if nothing followed: %v", e)
	}
	unpacked := EncodeUnit(Packet{GroupMembershipUpdate: &GroupMembershipUpdate{Players: []int32{1}, Unpacked: true}})
	if e := decodeEvent(TypeScript, unpacked, false); e.Err == nil {
		t.Error("TypeScript read unpacked players")
	}
	if e := decodeEvent(CSharp, unpacked, false); e.Err != nil || !e.GroupMembershipUpdate.Unpacked {
		t.Errorf("C#: %v", e)
	}
}

func FuzzDecodePacket(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.hex)[1:])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := DecodePacket(raw)
		if err != nil {
			return
		}
		once := EncodePacket(p)
		again, err := DecodePacket(once)
		if err != nil {
			t.Fatalf("own encoding %x does not decode: %v", once, err)
		}
		if string(EncodePacket(again)) != string(once) {
			t.Fatalf("encoding of %+v is not stable", p)
		}
	})
}

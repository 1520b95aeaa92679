package loadgen

import (
	"encoding/hex"
	"testing"

	"troupe/messages/wire"
)

// The vectors are those of realtime.md 14.2.
func TestVectors(t *testing.T) {
	t.Parallel()
	if got, want := hex.EncodeToString(AppendLogin(nil, "psess-1", false)),
		"1b18ffffffffffffffffff013001f2010b0a0770736573732d311002"; got != want {
		t.Errorf("LOGIN\n got %s\nwant %s", got, want)
	}
	// The vector with connectToken "tok" less that field.
	if got, want := hex.EncodeToString(AppendLoginResponse(nil, 1, 33400)),
		"1c0801180128ffffffffffffffffff013001fa010808011801"+"20f88402"; got != want {
		t.Errorf("LOGIN_RESPONSE\n got %s\nwant %s", got, want)
	}
}

func TestParseLogin(t *testing.T) {
	t.Parallel()
	p, err := ParseUnit(AppendLogin(nil, "room-3-7", false))
	if err != nil {
		t.Fatal(err)
	}
	if p.OpCode != OpLogin {
		t.Errorf("op code %d", p.OpCode)
	}
	id, err := PlayerSessionID(p.Login)
	if err != nil || id != "room-3-7" {
		t.Errorf("id %q, %v", id, err)
	}
}

func TestParseLoginResponse(t *testing.T) {
	t.Parallel()
	ok := mustHex(t, "210801180128ffffffffffffffffff013001fa010d0801180120f884023203746f6b")
	p, err := ParseUnit(ok)
	if err != nil || p.OpCode != OpLoginResponse || p.Sender != ServerPeer {
		t.Fatalf("%+v, %v", p, err)
	}
	if r, err := ParseLoginResult(p.LoginRes); r != (LoginResult{OK: true, PeerID: 1}) || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	refused := mustHex(t, "12080128ffffffffffffffffff013001fa0100")
	if p, err = ParseUnit(refused); err != nil || p.LoginRes == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if r, _ := ParseLoginResult(p.LoginRes); r.OK {
		t.Error("refusal read as success")
	}
}

func TestGroupMessageRoundTrip(t *testing.T) {
	t.Parallel()
	unit := AppendGroupMessage(nil, OpLoad, 300, AllPlayers, []byte("payload"))
	p, err := ParseUnit(unit)
	if err != nil || p.OpCode != OpLoad || p.Sender != 300 || string(p.Payload) != "payload" {
		t.Fatalf("%+v, %v", p, err)
	}
	if string(unit[len(unit)-7:]) != "payload" {
		t.Error("the payload is not the last part of the unit")
	}
}

func TestParseTruncated(t *testing.T) {
	t.Parallel()
	unit := AppendGroupMessage(nil, -500, 1, AllPlayers, make([]byte, 64))
	for n := range len(unit) {
		if _, err := ParseUnit(unit[:n]); err == nil {
			t.Errorf("%d of %d bytes parsed", n, len(unit))
		}
	}
}

func mustHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNumberedMessage(t *testing.T) {
	for _, n := range []uint64{0, 1, 127, 128, 1<<35 - 1} {
		unit, relSeqAt, ackAt := AppendNumberedMessage(nil, OpLoad, 3, AllPlayers, make([]byte, 200))
		PutNumber(unit[relSeqAt:], n)
		PutNumber(unit[ackAt:], n/2)
		if p, err := ParseUnit(unit); err != nil || p.RelSeq != n || p.Ack != n/2 || len(p.Payload) != 200 || p.Sender != 3 {
			t.Errorf("%d: %+v, %v", n, p, err)
		}
	}
	if p, err := ParseUnit(AppendAck(nil, 300)); err != nil || p.Ack != 300 || p.RelSeq != 0 || p.OpCode != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	var h wire.Header
	packet, err := wire.SplitUnit(AppendAck(nil, 300))
	if err != nil || h.Parse(packet) != nil || h.Ack != 300 || !h.Reliable || h.Command != wire.CommandNone {
		t.Errorf("the host reads %+v, %v", h, err)
	}
}

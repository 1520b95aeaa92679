package loadgen

import (
	"encoding/hex"
	"testing"
)

// The vectors are those in realtime.md 14.2.
func TestVectors(t *testing.T) {
	t.Parallel()
	if got, want := hex.EncodeToString(AppendLogin(nil, "psess-1")),
		"1b18ffffffffffffffffff013001f2010b0a0770736573732d311002"; got != want {
		t.Errorf("LOGIN\n got %s\nwant %s", got, want)
	}
	// The vector with connectToken "tok", without that field.
	if got, want := hex.EncodeToString(AppendLoginResponse(nil, 1, 33400)),
		"1c0801180128ffffffffffffffffff013001fa010808011801"+"20f88402"; got != want {
		t.Errorf("LOGIN_RESPONSE\n got %s\nwant %s", got, want)
	}
}

func TestParseLogin(t *testing.T) {
	t.Parallel()
	p, err := ParseUnit(AppendLogin(nil, "room-3-7"))
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
	if ok, peer, err := ParseLoginResult(p.LoginRes); !ok || peer != 1 || err != nil {
		t.Errorf("%v, %d, %v", ok, peer, err)
	}
	refused := mustHex(t, "12080128ffffffffffffffffff013001fa0100")
	if p, err = ParseUnit(refused); err != nil || p.LoginRes == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if ok, _, _ := ParseLoginResult(p.LoginRes); ok {
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

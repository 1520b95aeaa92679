package js_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"troupe/messages/wire"
)

// decoded is the expected result of both decoders for a unit; nil if the unit is refused. Numbers
// of 64 bits are floats, as in JavaScript.
type decoded struct {
	OpCode        int32   `json:"opCode"`
	Sequence      int32   `json:"sequence"`
	TargetPlayer  int32   `json:"targetPlayer"`
	TargetGroup   int32   `json:"targetGroup"`
	Sender        int32   `json:"sender"`
	Reliable      bool    `json:"reliable"`
	ClientVersion int32   `json:"clientVersion"`
	Payload       string  `json:"payload"`
	Command       int     `json:"command"`
	Inner         string  `json:"inner"`
	RelSeq        float64 `json:"relSeq"`
	Ack           float64 `json:"ack"`
	// Again is the unit that the encoder makes from it.
	Again string `json:"again"`
	// Membership and Login are the inner messages that a client parses.
	Membership *membership `json:"membership,omitempty"`
	Login      *answer     `json:"login,omitempty"`
}

type membership struct {
	Group   int32   `json:"group"`
	Players []int32 `json:"players"`
}

type answer struct {
	Success        bool    `json:"success"`
	ReconnectToken string  `json:"reconnectToken"`
	PeerID         int32   `json:"peerId"`
	Caps           float64 `json:"caps"`
	LastReceived   float64 `json:"lastReceived"`
	Outcome        float64 `json:"outcome"`
	WindowMs       float64 `json:"windowMs"`
	Base           float64 `json:"base"`
	RetryAfterMs   float64 `json:"retryAfterMs"`
	Lost           float64 `json:"lost"`
	// Addresses of other hosts, and why the game session is over.
	Endpoints  string   `json:"endpoints"`
	Alternates []string `json:"alternates"`
	Over       float64  `json:"over"`
}

// decode returns what package wire decodes from a unit.
func decode(t *testing.T, unit []byte) *decoded {
	t.Helper()
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err != nil || h.Parse(packet) != nil {
		return nil
	}
	d := &decoded{
		OpCode: h.OpCode, Sequence: h.Sequence, TargetPlayer: h.TargetPlayer, TargetGroup: h.TargetGroup, Sender: h.Sender, Reliable: h.Reliable,
		ClientVersion: h.ClientVersion, Payload: hex.EncodeToString(h.Payload), Command: int(h.Command), Inner: hex.EncodeToString(h.Inner),
		RelSeq: float64(h.RelSeq), Ack: float64(h.Ack),
	}
	if max(h.RelSeq, h.Ack) < 1<<53 { // JavaScript cannot represent larger numbers exactly
		d.Again = hex.EncodeToString(wire.AppendMessage(nil, &h))
	}
	switch h.Command {
	case wire.CommandGroupMembershipUpdate:
		m, err := wire.ParseMembership(h.Inner)
		if err != nil {
			t.Fatal(err)
		}
		d.Membership = &membership{m.Group, append([]int32{}, m.Players...)}
	case wire.CommandLoginResult:
		r, err := wire.ParseLoginResult(h.Inner)
		if err != nil {
			t.Fatal(err)
		}
		d.Login = &answer{
			r.Success, r.ReconnectToken, r.PeerID, float64(r.Caps), float64(r.LastReceived), float64(r.Outcome), float64(r.WindowMs), float64(r.Base), float64(r.RetryAfterMs),
			float64(r.Lost), r.Endpoints, append([]string{}, r.Alternates...), float64(r.Over),
		}
	}
	return d
}

// vectors returns the units of realtime.md 14.2 and of the fuzz corpora of package wire.
func vectors(t *testing.T) (units [][]byte) {
	t.Helper()
	spec, err := os.ReadFile("../../../docs/spec/realtime.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| [^|]+ \\| `([0-9a-f]{20,})` \\|$").FindAllSubmatch(spec, -1) {
		unit, err := hex.DecodeString(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, unit)
	}
	if len(units) < 13 {
		t.Fatalf("only %d vectors in the specification", len(units))
	}
	for _, target := range []string{"FuzzUnit", "FuzzPacketDecode"} {
		files, err := filepath.Glob("../../../messages/wire/testdata/fuzz/" + target + "/*")
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %v, %v", target, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "[]byte(")
				if !ok {
					continue
				}
				input, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				if err != nil {
					t.Fatal(err)
				}
				units = append(units, []byte(input), protowire.AppendBytes(nil, []byte(input)))
			}
		}
	}
	return units
}

// random returns a random packet or a damaged known one.
func random(r *rand.Rand, known [][]byte) []byte {
	number := func() int32 {
		return []int32{0, 1, -1, r.Int32(), -r.Int32(), 300, -13}[r.IntN(7)]
	}
	text := func(most int) []byte {
		b := make([]byte, r.IntN(most))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	alternates := make([]string, r.IntN(wire.AlternatesMax+2))
	for i := range alternates {
		alternates[i] = strings.ToValidUTF8(string(text(40)), "é")
	}
	players := make([]int32, r.IntN(9))
	for i := range players {
		players[i] = number()
	}
	var unit []byte
	switch r.IntN(5) {
	case 0:
		unit = wire.AppendMessage(nil, &wire.Header{OpCode: number(), Sequence: number(), TargetPlayer: number(), TargetGroup: number(), Sender: number(), Reliable: r.IntN(2) == 0,
			ClientVersion: number(), Payload: text(300), RelSeq: r.Uint64() >> r.IntN(65), Ack: r.Uint64() >> r.IntN(65)})
	case 1:
		unit = wire.NewMembershipUpdate(number(), number(), number(), players).AppendNumbered(nil, uint64(r.Uint32()), uint64(r.Uint32()))
	case 2:
		unit = wire.NewLoginResult(&wire.LoginResult{Success: r.IntN(2) == 0, ReconnectToken: strings.ToValidUTF8(string(text(40)), "é"), PeerID: number(), FastPort: number(), CACert: text(60),
			Caps: uint64(r.IntN(3)), LastReceived: r.Uint64() >> r.IntN(65), Outcome: uint64(r.IntN(120)), WindowMs: uint64(r.Uint32()), Base: r.Uint64() >> 20, RetryAfterMs: uint64(r.Uint32()), Lost: 3,
			Endpoints: strings.ToValidUTF8(string(text(9)), "ü"), Alternates: alternates, Over: wire.Over(r.IntN(5))}).AppendReliable(nil)
	case 3:
		unit = protowire.AppendBytes(nil, text(40))
	default:
		unit = bytes.Clone(known[r.IntN(len(known))])
	}
	for range r.IntN(4) { // about half of them stay intact
		if len(unit) == 0 || r.IntN(2) == 0 {
			break
		}
		at := r.IntN(len(unit))
		switch r.IntN(4) {
		case 0:
			unit[at] ^= 1 << r.IntN(8)
		case 1:
			unit = append(unit[:at], unit[at+1:]...)
		case 2:
			unit = append(unit[:at], append(text(5), unit[at:]...)...)
		case 3:
			unit = protowire.AppendBytes(nil, append(bytes.Clone(unit[min(1, len(unit)):]), unit[min(1, len(unit)):]...)) // each field twice
		}
	}
	return unit
}

// units returns the units of vectors and random ones.
func units(t *testing.T) (all [][]byte, seed uint64) {
	t.Helper()
	seed = rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 20))
	known := vectors(t)
	all = known
	made := 20_000
	if testing.Short() {
		made = 4000
	}
	for range made {
		all = append(all, random(r, known))
	}
	return all, seed
}

// bothDecodersAgree compares the client's decoder with package wire. out has one line for each unit. Both must decode
// the same, or both must refuse the unit. Both must encode the same packet to the same bytes.
func bothDecodersAgree(t *testing.T, out string, units [][]byte, seed uint64) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(units) {
		t.Fatalf("%d answers for %d units", len(lines), len(units))
	}
	refused := 0
	for i, unit := range units {
		want, err := json.Marshal(decode(t, unit))
		if err != nil {
			t.Fatal(err)
		}
		if string(want) == "null" {
			refused++
		}
		var got *decoded
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatalf("%x: %v", unit, err)
		}
		if again, _ := json.Marshal(got); !bytes.Equal(again, want) {
			t.Fatalf("unit %x (%d, seed %d):\n%s\nwant\n%s", unit, i, seed, again, want)
		}
	}
	t.Logf("%d units, %d of them refused by both (seed %d)", len(units), refused, seed)
	if refused < len(units)/20 || refused > len(units)*3/4 {
		t.Errorf("%d of %d were refused: that tries one side only", refused, len(units))
	}
}

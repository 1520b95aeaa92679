package suite

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/peers"
	"troupe/bench/server"
)

// spoken lists the protocols other than Realtime.
var spoken = []string{"colyseus", "centrifuge", "nano"}

func speaks(t *testing.T, name string) loadgen.Protocol {
	t.Helper()
	p, err := peers.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recording contains what a real server has sent to a player: testdata/NAME.json.
type recording struct {
	Version string   `json:"version"`
	Joining []string `json:"joining"` // messages until the player was in its room; hexadecimal, as are the fields below
	Said    string   `json:"said"`    // message that the player sent
	Heard   []string `json:"heard"`   // messages received after that
}

// payload is the player's message: a send time, then other bytes.
var payload = append([]byte{0xd2, 0x04, 0, 0, 0, 0, 0, 0}, "0123456789"...)

// The recorded messages of real servers are parsed correctly, and the player's messages equal those that the servers
// accepted.
func TestRecordedFrames(t *testing.T) {
	t.Parallel()
	for _, name := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "peers", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var r recording
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			p := speaks(t, name)
			for i, message := range r.Joining {
				_, joined, err := p.Joining(loadgen.Login{Room: 3}, unhex(t, message))
				if err != nil || joined != (i == len(r.Joining)-1) {
					t.Errorf("message %d of joining: joined %v, %v", i, joined, err)
				}
			}
			if got := hex.EncodeToString(p.Message(payload)); got != r.Said {
				t.Errorf("says %s, want %s", got, r.Said)
			}
			heard := 0
			for _, message := range r.Heard {
				for rest := unhex(t, message); len(rest) > 0; {
					var part loadgen.Part
					if part, rest, err = p.Next(rest); err != nil {
						t.Fatal(err)
					}
					if part.Payload != nil {
						if heard++; !bytes.Equal(part.Payload[8:], payload[8:]) {
							t.Errorf("heard %x", part.Payload)
						}
					}
				}
			}
			if heard == 0 {
				t.Error("heard nothing")
			}
		})
	}
}

// Pings are answered, errors end the login, and a malformed message is an error without a panic.
func TestFramesOtherThanMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, message, answer string }{
		{"centrifuge", "00", "00"},
		{"nano", "03000000", "03000000"},
		{"colyseus", "12", ""},
	} {
		part, rest, err := speaks(t, c.name).Next(unhex(t, c.message))
		if err != nil || len(rest) != 0 || part.Payload != nil || hex.EncodeToString(part.Answer) != c.answer {
			t.Errorf("%s: %+v, rest %x, %v", c.name, part, rest, err)
		}
	}
	for name, message := range map[string]string{
		"centrifuge": "0708011203086d12", // ends early
		"nano":       "05000000",         // kicked
		"colyseus":   "0b64",             // ERROR
	} {
		if _, joined, err := speaks(t, name).Joining(loadgen.Login{}, unhex(t, message)); err == nil || joined {
			t.Errorf("%s: %x is no error", name, message)
		}
	}
	if _, _, err := speaks(t, "centrifuge").Joining(loadgen.Login{}, unhex(t, "0608011202086d")); err == nil {
		t.Error("centrifuge: a refusal is no error")
	}
	if _, err := peers.Find("smtp"); err == nil {
		t.Error("any protocol is known")
	}
	for _, name := range spoken {
		f := func(b []byte) {
			p := speaks(t, name)
			_, _, _ = p.Joining(loadgen.Login{}, b)
			for rest := b; len(rest) > 0; {
				var err error
				if _, rest, err = p.Next(rest); err != nil {
					break
				}
			}
		}
		for i := range 1 << 12 {
			f([]byte{byte(i >> 4), byte(i), byte(i), byte(i >> 2), byte(i >> 4), 1})
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	list   = flag.String("peers.file", "", "list of peers that make peers has written, to play with real ones")
	update = flag.Bool("update", false, "with -peers.file: write what the real servers say to testdata")
)

// TestRealServers plays with the real servers (make proof-peers).
func TestRealServers(t *testing.T) {
	if *list == "" {
		return // return instead of Skip, so that the test is not counted as skipped without the flag
	}
	all, err := peers.ReadList(*list)
	if err != nil {
		t.Fatal(err)
	}
	for _, peer := range all {
		if !slices.Contains(spoken, peer.Name) {
			continue
		}
		if peer.Missing != "" {
			t.Errorf("%s: %s", peer.Name, peer.Missing)
			continue
		}
		t.Run(peer.Name, func(t *testing.T) { playReal(t, peer) })
	}
}

func playReal(t *testing.T, peer peers.Peer) {
	proc, err := server.Start(t.Context(), server.Spec{Name: peer.Name, Kind: server.Bare, Bin: peer.Command[0], Args: peer.Command[1:]})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proc.Stop(); err != nil {
			t.Error(err)
		}
	}()
	p, err := peers.Find(proc.Announce.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{Protocol: p, r: recording{Version: proc.Announce.Version}}
	swarm, err := loadgen.New(loadgen.Config{Addr: proc.Announce.WS, Hz: 20, PayloadBytes: 18, Protocol: rec})
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Fill(t.Context(), swarm, 7, 3); err != nil { // rooms of 3, 3 and 1 players
		t.Fatal(err)
	}
	res, err := swarm.Run(t.Context(), loadgen.Plan{Measure: time.Second, Drain: time.Minute})
	if err != nil || res.Sent != 140 || res.Expected != 20*(9+9+1) || res.Delivered != res.Expected {
		t.Errorf("%+v, %v", res, err)
	}
	lost, first := swarm.Disconnects()
	if err := swarm.Close(); err != nil || lost != 0 {
		t.Errorf("%d players were lost, the first: %v; %v", lost, first, err)
	}
	if !*update {
		return
	}
	rec.r.Said = hex.EncodeToString(p.Message(payload))
	text, err := json.MarshalIndent(rec.r, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join("testdata", "peers", peer.Name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recorder records what the first player receives, and makes all players send the test's payload.
type recorder struct {
	loadgen.Protocol

	mu     sync.Mutex // guards the fields below
	player string
	r      recording
}

const heardMax = 3

func (r *recorder) Path(ctx context.Context, addr string, login loadgen.Login) (string, error) {
	r.mu.Lock()
	if r.player == "" {
		r.player = login.PlayerSessionID
	}
	r.mu.Unlock()
	return r.Protocol.Path(ctx, addr, login)
}

func (r *recorder) Joining(login loadgen.Login, message []byte) ([][]byte, bool, error) {
	r.mu.Lock()
	if login.PlayerSessionID == r.player {
		r.r.Joining = append(r.r.Joining, hex.EncodeToString(message))
	}
	r.mu.Unlock()
	return r.Protocol.Joining(login, message)
}

func (r *recorder) Message(room []byte) []byte {
	copy(room[8:], payload[8:])
	return r.Protocol.Message(room)
}

func (r *recorder) Next(message []byte) (loadgen.Part, []byte, error) {
	r.mu.Lock()
	if len(r.r.Heard) < heardMax {
		r.r.Heard = append(r.r.Heard, hex.EncodeToString(message))
	}
	r.mu.Unlock()
	return r.Protocol.Next(message)
}

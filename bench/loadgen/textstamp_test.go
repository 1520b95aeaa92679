package loadgen

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
	"unicode/utf8"
)

const us = int64(time.Microsecond)

// sentText returns what the player with a number sends at a time.
func sentText(t *testing.T, cfg Config, number int, nanos int64) []byte {
	t.Helper()
	cfg.To = ToAnything
	key := [4]byte{0x11, 0x22, 0x33, 0x44}
	m := newMessage(&cfg, &webSocket{of: &conn{peer: 3, number: number}, key: key})
	var payload []byte
	for _, at := range []int64{1, nanos} { // the stamp is overwritten repeatedly
		frame := bytes.Clone(m.stamped(at))
		unit := frame[len(frame)-len(m.unit):]
		mask(unit, key, 0)
		p, err := ParseUnit(unit)
		if err != nil {
			t.Fatal(err)
		}
		payload = p.Payload
	}
	return payload
}

// stampsIn returns the send times in an answer.
func stampsIn(s *seen, answer string, now int64) (all []int64) {
	b := []byte(answer)
	for {
		stamp, rest, ok := s.take(b, now)
		if !ok {
			return all
		}
		all, b = append(all, stamp/us), rest
	}
}

// A script may read the players' messages as text and put them into JSON, anywhere in its answer.
func TestStampSurvivesText(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"without a message": {PayloadBytes: 64},
		"the shortest":      {PayloadBytes: textStampBytes},
		"a placeholder":     {Message: []byte(`{"move":"left","t":"{{stamp}}"}`)},
		"two of them":       {Message: []byte(`{{stamp}} ü {{stamp}}`)},
	} {
		payload := sentText(t, cfg, 7, 123456789*us+999)
		if want := max(cfg.PayloadBytes, MessageBytes(string(cfg.Message))); !utf8.Valid(payload) || len(payload) != want {
			t.Errorf("%s: %d bytes, want %d: %q", name, len(payload), want, payload)
		}
		state, err := json.Marshal(map[string]any{"x": 1, "all": []any{map[string]string{"last": string(payload)}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := stampsIn(new(seen), string(state), time.Hour.Nanoseconds()); !slices.Equal(got, []int64{123456789}) {
			t.Errorf("%s: %s tells %v", name, state, got)
		}
	}
	if text := `{"move":"left"}`; string(sentText(t, Config{Message: []byte(text)}, 7, 5*us)) != text {
		t.Error("a message without a placeholder is not sent as it is")
	}
}

// Each message of each player gives one latency, regardless of the order in which messages of different players arrive.
func TestStampsAreCountedOnce(t *testing.T) {
	t.Parallel()
	stamp := func(number int, micros int64) string {
		return string(sentText(t, Config{PayloadBytes: textStampBytes}, number, micros*us))
	}
	a1, a2, b1, b2, later := stamp(1, 10), stamp(1, 30), stamp(2, 20), stamp(2, 40), stamp(3, 5000)
	s := new(seen)
	for i, c := range []struct {
		answer string
		want   []int64
	}{
		{"[" + a1 + "," + b1 + "]", []int64{10, 20}},
		{"[" + a1 + "," + b1 + "]", nil},           // a repeated state
		{"[" + a1 + "," + b2 + "]", []int64{40}},   // only one player's message is new
		{a2 + a2, []int64{30}},                     // late, but the first answer with this message
		{a1 + b2 + later + "~at~00000000000", nil}, // two old stamps, one of another swarm, and the beginning of one
	} {
		if got := stampsIn(s, c.answer, 1000*us); !slices.Equal(got, c.want) {
			t.Errorf("answer %d, %s: %v, want %v", i, c.answer, got, c.want)
		}
	}
}

// An answer counts once, regardless of how many send times it contains, and reading it does not allocate.
func TestAnswersDoNotAllocate(t *testing.T) {
	var w window
	w.to.Store(int64(time.Hour))
	rec := &recorder{latency: newHistogram(), recent: newRecent()}
	c := &webSocket{of: &conn{rec: rec, seen: new(seen)}}
	const players = 50 // more than fit into a batch
	state := bytes.Repeat([]byte(`["`+string(emptyStamp)+`"],`), players)
	frame := serverFrame(opBinary, AppendGroupMessage(nil, 9, 0, AllPlayers, state))
	stamps := placesOf(frame, mark)
	var b batch
	var micros, answers int64
	answer := func() {
		answers++
		micros += 1000
		for i, at := range stamps {
			putDigits(frame[at+len(mark):at+textStampBytes], stampValue(micros*us, i))
		}
		for rest := frame; len(rest) > 0; {
			n := copy(c.parser.space(), rest)
			c.parser.filled(n)
			rest = rest[n:]
			if err := c.drain(&b, (micros+5)*us, &w); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := testing.AllocsPerRun(100, answer); n != 0 { // AllocsPerRun also makes one call first
		t.Errorf("%v allocations", n)
	}
	if rec.delivered != players*answers || rec.others != answers {
		t.Errorf("%d send times in %d answers, want %d in %d", rec.delivered, rec.others, players*answers, answers)
	}
	if q := quantilesOf(rec.latency); q.P50 != 5*time.Microsecond || q.Max != 5*time.Microsecond {
		t.Errorf("latencies %v", q)
	}
}

func FuzzNextStamp(f *testing.F) {
	f.Add([]byte("~at"), []byte(`"}`), uint64(1)<<40)
	f.Add([]byte("~at~0123456789a"), []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, before, after []byte, value uint64) {
		value &= 1<<(4*stampDigits) - 1
		stamp := bytes.Clone(emptyStamp)
		putDigits(stamp[len(mark):], value)
		found := false
		for b := slices.Concat(before, stamp, after); ; {
			got, rest, ok := nextStamp(b)
			if !ok {
				break
			}
			if len(rest) >= len(b) {
				t.Fatal("nothing was taken")
			}
			found, b = found || got == value, rest
		}
		if !found {
			t.Errorf("the stamp between %q and %q was not found", before, after)
		}
	})
}

package play

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/transport/client"
)

func TestParse(t *testing.T) {
	said := func(m client.Message, text string) command {
		m.OpCode, m.Payload = opChat, []byte(text)
		return command{verb: verbSay, message: m}
	}
	for line, want := range map[string]command{
		"":                 {},
		"   ":              {},
		"/to 2":            {},
		"hello":            said(client.Message{TargetGroup: -1}, "hello"),
		"  two words ":     said(client.Message{TargetGroup: -1}, "two words"),
		"/to 2 hi  you":    said(client.Message{TargetPlayer: 2}, "hi  you"),
		"/server go now":   said(client.Message{TargetPlayer: -1}, "go now"),
		"/op 5 {\"x\": 1}": {verb: verbSay, message: client.Message{TargetPlayer: -1, OpCode: 5, Payload: []byte(`{"x": 1}`)}},
		"/op 6":            {verb: verbSay, message: client.Message{TargetPlayer: -1, OpCode: 6, Payload: []byte{}}},
		"/fast quick":      said(client.Message{TargetGroup: -1, Intent: client.Fast}, "quick"),
		"/join  7 ":        {verb: verbJoin, group: 7},
		"/quit":            {verb: verbQuit},
		"/help":            {verb: verbHelp},
	} {
		if got, err := parse(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{
		"/to", "/to ann hi", "/to 0 hi", "/to -1 hi", "/to 99999999999 hi", "/join", "/join x", "/join 0", "/join -1",
		"/op", "/op x", "/op 0", "/op -1 x", "/op 99999999999", "/members", "/nope", "/", strings.Repeat("x", client.PayloadMax+1),
	} {
		if got, err := parse(line); err == nil || got.verb != 0 {
			t.Errorf("%q: got %+v, %v", line[:min(len(line), 20)], got, err)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"grüße, 世界":              "grüße, 世界",
		"\x1b[31m":               `"\x1b[31m"`,
		"\xff\x00":               `"\xff\x00"`,
		"a\nb":                   `"a\nb"`,
		"\u202e":                 `"\u202e"`,
		strings.Repeat("x", 201): strings.Repeat("x", 200) + "... (201 bytes)",
	} {
		if got := visible([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := visible([]byte(strings.Repeat("世", 100))); !utf8.ValidString(got) || strings.HasPrefix(got, `"`) {
		t.Errorf("cut inside a letter: %q", got)
	}
}

package gamesession_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/gamesession"
	"troupe/actors/script"
)

// The lines of scripts appear on the operator's terminal. They can neither forge a line of the host nor contain control
// sequences.
func TestHostLogCannotBeForged(t *testing.T) {
	var out strings.Builder
	log := zerolog.New(zerolog.ConsoleWriter{Out: &out, NoColor: true})
	gamesession.HostLog(&log, "game\x1b[2J").Write(script.Line{
		Time: time.Unix(0, 0), Level: script.LevelInfo, File: "main\x1b[31m.js\n", Row: 3,
		Text: "\x1b]0;title\x07one\r\n<nil> ERR forged\rover\u202e\u0085" + strings.Repeat("x", script.LineTextMax),
	})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "<nil> INF \\x1b]0;title\\x07one") || !strings.HasPrefix(lines[1], "    <nil> ERR forged\\x0dover") {
		t.Errorf("%d lines: %.200q", len(lines), lines)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\r\u202e\u0085") {
		t.Errorf("control characters reach the terminal: %.200q", out.String())
	}
	if out.Len() > script.LineTextMax+400 {
		t.Errorf("a line of %d bytes", out.Len())
	}
}

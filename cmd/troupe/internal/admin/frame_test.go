package admin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func crowd(n int) *Snapshot {
	s := &Snapshot{}
	s.Top.GameSessionsRunning, s.Top.PlayersInGame = n, n
	ms := 0.02
	for i := range n {
		s.Top.GameSessions = append(s.Top.GameSessions, GameSession{ID: fmt.Sprintf("arn:x/fleet/g-%d", i), Name: "evil \x1b[2J\n name " + strings.Repeat("w", 50), RTTSeconds: &ms})
		s.Top.Players = append(s.Top.Players, Player{PlayerID: "ann\x1b]0;x\a\r", GameSessionID: "arn:x/fleet/g-7", OutPerSecond: &ms})
	}
	return s
}

// No frame is larger than its terminal, and no text from the host can control the terminal.
func TestFrameFits(t *testing.T) {
	for rows := range 40 {
		for _, columns := range []int{0, 1, 2, 20, 80, 300} {
			for _, n := range []int{0, 1, 3, 60} {
				for _, lists := range []Lists{Both, GameSessions, Players} {
					v := View{Columns: columns, Rows: max(rows, 1), Host: "http://x", Order: "rate", Lists: lists, Trouble: "a\x1bb"}
					lines := Frame(crowd(n), v)
					if len(lines) != v.Rows {
						t.Fatalf("%+v with %d: %d lines", v, n, len(lines))
					}
					for _, line := range lines {
						plain := strings.TrimSuffix(strings.TrimPrefix(line, inverseOn), inverseOff)
						if utf8.RuneCountInString(plain) > max(columns, 0) || strings.IndexFunc(plain, unicode.IsControl) >= 0 {
							t.Fatalf("%+v with %d: %q", v, n, line)
						}
					}
				}
			}
		}
	}
}

// A truncated list says so, and one list gets the space that the other does not use.
func TestFrameShowsWhatFits(t *testing.T) {
	s := crowd(60)
	s.Top.GameSessions, s.Top.GameSessionsRunning = s.Top.GameSessions[:2], 2
	text := strings.Join(Frame(s, View{Columns: 120, Rows: 30, Order: "rtt"}), "\n")
	if strings.Count(text, "ann") < 15 || !strings.Contains(text, "... and ") || !strings.Contains(text, "[round trip]") || strings.Count(text, "evil") != 2 {
		t.Error(text)
	}
}

func TestTextHasAllRows(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, crowd(60), "http://x"); err != nil || strings.Count(b.String(), "ann") != 60 || strings.ContainsAny(b.String(), "\x1b\a\r") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A game session that does not answer is not shown as empty.
func TestSilentGameSessionsAreMarked(t *testing.T) {
	s := crowd(2)
	if text := strings.Join(Frame(s, View{Columns: 200, Rows: 30}), "\n"); strings.Contains(text, "silent") {
		t.Error(text)
	}
	s.Top.GameSessions[1].Silent, s.Top.GameSessionsSilent = true, 1
	text := strings.Join(Frame(s, View{Columns: 200, Rows: 30}), "\n")
	if !strings.Contains(text, "active, 1 silent ") || strings.Count(text, "silent") != 2 {
		t.Error(text)
	}
}

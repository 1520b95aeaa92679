package sessionlog

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

func FuzzName(f *testing.F) {
	for _, id := range []string{
		"arn:aws:gamelift:us-east-1::gamesession/fleet-dev/gsess-9f", "", "A", "a", "_61", "../../etc/passwd", "CON", "nul.txt", "a\x00b", "\xff",
		strings.Repeat("x", partBytes), strings.Repeat("x", partBytes+1), strings.Repeat("/", idMax), strings.Repeat("y", idMax+1), "..", "s-.1.log", "a b\n", "é",
	} {
		f.Add(id, 1)
		f.Add(id, -7)
	}
	f.Fuzz(func(t *testing.T, id string, number int) {
		if b, ok := base(messages.GameSessionID(id)); ok && number > 0 {
			name := file(b, number)
			if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.ToLower(name) != name {
				t.Errorf("%q is %q", id, name)
			}
			for _, part := range strings.Split(name, string(filepath.Separator)) {
				if len(part) > 255 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
					t.Errorf("%q has a part %q", id, part)
				}
			}
			if back, n, ok := parse(name); !ok || string(back) != id || n != number {
				t.Errorf("%q is %q, and that is %q %d %v", id, name, back, n, ok)
			}
		} else if ok != (id != "" && len(id) <= idMax) {
			t.Errorf("%q: %v", id, ok)
		}
		// Any name in the folder must either belong to a log or be rejected.
		if back, n, ok := parse(id); ok {
			if b, _ := base(back); file(b, n) != id {
				t.Errorf("%q passes for a log of %q", id, back)
			}
		}
	})
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{
		"", "plain", "two\nlines", "\r\n\r\r\n", "\x1b[31mred", "a\u2028b\u0085c\vd\fe", "tab\t", "\xff\xfe", strings.Repeat("é", script.LineTextMax), "\n", "21 November 2026 [INFO]",
	} {
		f.Add(text, "main.js")
		f.Add("x", text)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		line := string(appendLine(nil, script.Line{Time: time.Unix(0, 0).UTC(), Level: script.LevelInfo, File: name, Row: 1, Text: text}))
		body, ended := strings.CutSuffix(line, "\n")
		if !ended || len(line) > 16*(script.LineTextMax+len(name))+200 {
			t.Fatalf("%q", line)
		}
		for i, l := range strings.Split(body, "\n") {
			if (i == 0) != strings.HasPrefix(l, "01 January 1970 00:00:00,000 [INFO] (") || i > 0 && !strings.HasPrefix(l, "    ") {
				t.Errorf("line %d: %q", i, l)
			}
			if strings.ContainsAny(l, "\r\v\f\x1b\x00\u0085\u2028\u2029\u202e") {
				t.Errorf("line %d can be more than it seems: %q", i, l)
			}
		}
	})
}

func TestLineIsThatOfTheOriginal(t *testing.T) {
	at := time.Date(2026, 11, 3, 9, 5, 7, 42e6, time.UTC)
	got := string(appendLine(nil, script.Line{Time: at, Level: script.LevelWarn, File: "main.js", Row: 12, Text: "one\n03 November 2026 09:05:07,042 [INFO] (main.js) 1: forged\r\nesc\x1b[0m"}))
	want := "03 November 2026 09:05:07,042 [WARN] (main.js) 12: one\n" +
		"    03 November 2026 09:05:07,042 [INFO] (main.js) 1: forged\n" +
		"    esc\\x1b[0m\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	long := string(appendLine(nil, script.Line{Text: strings.Repeat("é", script.LineTextMax)}))
	if !strings.HasSuffix(long, " ... (32768 more bytes)\n") || len(long) > script.LineTextMax+100 {
		t.Errorf("%d bytes, end %q", len(long), long[len(long)-40:])
	}
}

package sessionlog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"troupe/actors/script"
)

// indent is what a line break in a text becomes: no line of a log begins with a blank.
const indent = "\n    "

// appendLine appends a line as the file has it.
func appendLine(to []byte, l script.Line) []byte {
	l.File = clean(l.File, "\ufffd")
	cut := 0
	if len(l.Text) > textMax {
		end := textMax
		for end > textMax-utf8.UTFMax && !utf8.RuneStart(l.Text[end]) {
			end--
		}
		cut, l.Text = len(l.Text)-end, l.Text[:end]
	}
	l.Text = clean(strings.ReplaceAll(l.Text, "\r\n", "\n"), indent)
	if cut > 0 {
		l.Text += fmt.Sprintf(" ... (%d more bytes)", cut)
	}
	return append(append(to, l.String()...), '\n')
}

// clean replaces line breaks and spells out what is not to be shown.
func clean(s, lineBreak string) string {
	odd := func(r rune) bool { return r == utf8.RuneError || r != '\t' && !unicode.IsPrint(r) }
	first := strings.IndexFunc(s, odd)
	if first < 0 {
		return s
	}
	var out strings.Builder
	out.WriteString(s[:first])
	for _, r := range s[first:] {
		switch {
		case r == '\n':
			out.WriteString(lineBreak)
		case r == utf8.RuneError || !odd(r):
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
	}
	return out.String()
}

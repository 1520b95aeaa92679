package script

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineTextMax is the maximum length in bytes of the text of a line, and lineFileMax that of its file name.
// The rest is cut off.
const LineTextMax, lineFileMax = 32 << 10, 255

// indent replaces a line break in a text, so that no text can look like a new line of the log.
const indent = "\n    "

// Clean returns the line in a form that is safe to show and store: no text can forge another line or send
// control sequences to a terminal.
func (l Line) Clean() Line {
	if len(l.File) > lineFileMax {
		l.File = strings.ToValidUTF8(l.File[:lineFileMax], "") + "..."
	}
	l.File = clean(l.File, "\ufffd")
	cut := 0
	if len(l.Text) > LineTextMax {
		end := LineTextMax
		for end > LineTextMax-utf8.UTFMax && !utf8.RuneStart(l.Text[end]) {
			end--
		}
		cut, l.Text = len(l.Text)-end, l.Text[:end]
	}
	l.Text = clean(strings.ReplaceAll(l.Text, "\r\n", "\n"), indent)
	if cut > 0 {
		l.Text += fmt.Sprintf(" ... (%d more bytes)", cut)
	}
	return l
}

// clean replaces line breaks by lineBreak, and escapes characters that are not printable.
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

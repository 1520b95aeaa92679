package script

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineTextMax is how much of the text of one line is shown or kept, in bytes; lineFileMax of the name of its file.
const LineTextMax, lineFileMax = 32 << 10, 255

// indent is what a line break in a text becomes: no line of a log begins with a blank.
const indent = "\n    "

// Clean returns the line as it may be shown and kept: no text can forge another line, or speak to the reader's terminal.
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

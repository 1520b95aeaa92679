package modules

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"
)

// quote returns a string as a literal, in the quotes that need no escapes if there
// are any.
func quote(r *goja.Runtime, v goja.Value) goja.Value {
	s := units(r, v)
	q := byte('\'')
	text := s.String()
	if strings.Contains(text, "'") {
		switch {
		case !strings.Contains(text, `"`):
			q = '"'
		case !strings.Contains(text, "`") && !strings.Contains(text, "${"):
			q = '`'
		}
	}
	var b strings.Builder
	b.WriteByte(q)
	escape(&b, s, q)
	b.WriteByte(q)
	return r.ToValue(b.String())
}

// units returns a value's string by its UTF-16 units.
func units(r *goja.Runtime, v goja.Value) goja.String {
	if s, ok := v.(goja.String); ok {
		return s
	}
	return r.ToValue(v.String()).(goja.String)
}

// escape writes a string with what does not print, backslashes and q escaped.
func escape(b *strings.Builder, s goja.String, q byte) {
	n := s.Length()
	for i := 0; i < n; i++ {
		c := s.CharAt(i)
		switch {
		case c == '\\' || q == '\'' && c == '\'':
			b.WriteByte('\\')
			b.WriteByte(byte(c))
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < 0x20 || c >= 0x7f && c < 0xa0:
			fmt.Fprintf(b, `\x%02X`, c)
		case c < 0x80:
			b.WriteByte(byte(c))
		case utf16.IsSurrogate(rune(c)):
			if i+1 < n {
				if pair := utf16.DecodeRune(rune(c), rune(s.CharAt(i+1))); pair != '\uFFFD' {
					b.WriteRune(pair)
					i++
					continue
				}
			}
			fmt.Fprintf(b, `\u%x`, c)
		default:
			b.WriteRune(rune(c))
		}
	}
}

// label returns a key as an object literal has it.
func label(r *goja.Runtime, v goja.Value) goja.Value {
	key := v.String()
	for i := range len(key) {
		c := key[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return quote(r, v)
		}
	}
	if key == "" {
		return quote(r, v)
	}
	return v
}

// frame is a line of the engine's stacks; it ends with a program counter.
var frame = regexp.MustCompile(`(?m)^\tat (.*?)\(\d+\)(\)?)$`)

// stack returns a stack in the form of Node.js.
func stack(text string) string {
	if !strings.Contains(text, "\n\tat ") {
		return strings.TrimSuffix(text, "\n")
	}
	text = frame.ReplaceAllString(strings.TrimSuffix(text, "\n"), "    at $1$2")
	return strings.ReplaceAll(text, "\n\tat ", "\n    at ")
}

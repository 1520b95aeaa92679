package modules

import (
	"fmt"
	"regexp"
	"strings"
)

// quote returns a text as a literal, in the quotes that need no escapes if there are any.
func quote(text string) string {
	q := '\''
	if strings.Contains(text, "'") {
		switch {
		case !strings.Contains(text, `"`):
			q = '"'
		case !strings.Contains(text, "`") && !strings.Contains(text, "${"):
			q = '`'
		}
	}
	var b strings.Builder
	b.WriteRune(q)
	for _, c := range text {
		switch at := strings.IndexRune("\b\t\n\f\r\\", c); {
		case at >= 0:
			b.WriteString(`\` + `btnfr\`[at:at+1])
		case c == q && q == '\'':
			b.WriteString(`\'`)
		case c < 0x20 || c >= 0x7f && c < 0xa0:
			fmt.Fprintf(&b, `\x%02X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteRune(q)
	return b.String()
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// label returns a key as an object literal has it.
func label(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return quote(key)
}

// frame is a line of the engine's stacks; it ends with a program counter.
var frame = regexp.MustCompile(`(?m)^\tat (.*?)\(\d+\)(\)?)$`)

// stack returns a stack in the form of Node.js.
func stack(text string) string {
	text = strings.TrimSuffix(text, "\n")
	first := strings.Index(text, "\n\tat ") // before it is the message, which may be long
	if first < 0 {
		return text
	}
	frames := frame.ReplaceAllString(text[first:], "    at $1$2")
	return text[:first] + strings.ReplaceAll(frames, "\n\tat ", "\n    at ")
}

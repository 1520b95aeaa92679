package compile

import (
	"regexp"
	"strconv"
	"strings"
)

// The engine takes only a line feed for the end of a line.
const (
	atLineStart = `(?<![^\n\r\u2028\u2029])`
	atLineEnd   = `(?![^\n\r\u2028\u2029])`
)

// halves are the code units of surrogate pairs, as an escape.
var halves = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// MendRegexp returns what the engine is to be given for a regular expression that it would
// take for another one: with the flag m it does not know the end of a line that is not a
// line feed, and without the flag u it takes all classes of halves of surrogate pairs,
// as [\ud800-\udbff][\udc00-\udfff], for the first of them.
func MendRegexp(pattern, flags string) string {
	lines := strings.Contains(flags, "m") && strings.ContainsAny(pattern, "^$")
	pairs := !strings.ContainsAny(flags, "uv") && halves.MatchString(pattern)
	if !lines && !pairs {
		return pattern
	}
	var b strings.Builder
	classes := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		case c == '[':
			n := classEnd(pattern[i:])
			class := pattern[i : i+n]
			if pairs && halves.MatchString(class) {
				class = distinct(class, classes)
				classes++
			}
			b.WriteString(class)
			i += n - 1
		case c == '^' && lines:
			b.WriteString(atLineStart)
		case c == '$' && lines:
			b.WriteString(atLineEnd)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// classEnd returns the length of the class that a pattern begins with.
func classEnd(pattern string) int {
	for i := 1; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return len(pattern)
}

// distinct adds the nth noncharacter to a class: the engine tells classes of halves apart by
// what else is in them.
func distinct(class string, n int) string {
	open := "["
	if strings.HasPrefix(class, "[^") {
		open = "[^"
	}
	rest := class[len(open):]
	if strings.HasPrefix(rest, "-") {
		rest = `\` + rest
	}
	return open + `\u` + strconv.FormatInt(int64(0xfdd0+n%32), 16) + rest
}

package modules

import (
	"strings"

	"troupe/messages/lazy"
)

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "'", `\'`)

// quote returns a text as a string literal.
func quote(text string) string { return "'" + escapes.Replace(text) + "'" }

var plainKey = lazy.Regexp(`^[A-Za-z_][A-Za-z_0-9]*$`)

// label formats a key as in an object literal.
func label(key string) string {
	if plainKey().MatchString(key) {
		return key
	}
	return quote(key)
}

var frame = lazy.Regexp(`(?m)^\tat (.*?)\(\d+\)(\)?)$`) // a line of the engine's stack traces, which ends with a program counter

// stack converts a stack trace of the engine to the format of Node.js.
func stack(text string) string {
	text = strings.TrimSuffix(text, "\n")
	first := strings.Index(text, "\n\tat ") // the message before the frames may be long
	if first < 0 {
		return text
	}
	frames := frame().ReplaceAllString(text[first:], "    at $1$2")
	return text[:first] + strings.ReplaceAll(frames, "\n\tat ", "\n    at ")
}

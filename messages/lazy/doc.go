// Package lazy has values that are made when they are first used, because one binary holds all commands and each of
// them needs few of these values.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a regular expression at its first call. It may be called concurrently. It
// panics if the expression is invalid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

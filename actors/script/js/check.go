package js

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js/compile"
)

// LoadError is an error that a script threw while it was loaded or in its init.
type LoadError struct {
	While   string // what the host was doing, such as "loading server.js"
	File    string // path in the bundle; empty if unknown
	Line    int    // from 1
	Column  int
	Message string // the class of the error and its message
	Stack   string // one line per frame, each preceded by a newline; may be empty
}

// Error returns file:line:column, the message and the stack.
func (e *LoadError) Error() string {
	where := e.While
	if e.File != "" {
		where = fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.While)
	}
	return where + ": " + e.Message + e.Stack
}

func (h *Handler) loadError(while string, thrown *goja.Exception) *LoadError {
	e := &LoadError{While: while, Message: brief(thrown.Value()), Stack: frames(thrown.Stack())}
	if i := slices.IndexFunc(thrown.Stack(), own); i >= 0 {
		p := thrown.Stack()[i].Position()
		e.File, e.Line, e.Column = strings.TrimPrefix(p.Filename, compile.Root+"/"), p.Line, p.Column
	}
	return e
}

// Check compiles all files of a script and runs none. Its errors contain file, line and column.
func Check(b *bundle.Bundle, entry string) error {
	p, err := New(b, entry, script.Limits{})
	if err != nil {
		return err
	}
	return p.unit.Check()
}

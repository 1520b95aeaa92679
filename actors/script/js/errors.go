package js

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/modules"
)

// isAbrupt reports whether err is an interrupt or a stack overflow, which scripts cannot catch.
func isAbrupt(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow)
}

const framesMax = 10

// uncaught handles an error outside callbacks. Unless the script listens for such errors, it ends the game
// session, as Node.js ends the process.
func (h *Handler) uncaught(e goja.Value, origin string) {
	heard, err := h.loader.Emit("uncaughtException", e, h.vm.ToValue(origin))
	var another *goja.Exception
	switch {
	case errors.As(err, &another):
		e = another.Value()
	case err != nil:
		panic(err) // an interrupt or overflow, which no script can catch
	case heard:
		return
	}
	what := "Uncaught error"
	if origin == "unhandledRejection" {
		what = "Unhandled promise rejection"
	}
	h.process.Counters.ScriptErrors.Add(1)
	h.report(script.LevelError, what, e)
	if !h.program.limits.KeepRunningOnError {
		h.crash(what + ": " + brief(e))
	}
}

// unhandled handles a rejected promise that has no handler. Since Node.js 15 this is an uncaught error;
// before, it was a warning (realtime.md 18.3).
func (h *Handler) unhandled(p *goja.Promise) {
	heard, err := h.loader.Emit("unhandledRejection", p.Result(), h.vm.ToValue(p))
	var thrown *goja.Exception
	switch {
	case errors.As(err, &thrown):
		h.uncaught(thrown.Value(), "uncaughtException")
	case err != nil:
		panic(err)
	case heard:
	case h.program.rejectionsFatal():
		h.uncaught(p.Result(), "unhandledRejection")
	default:
		h.process.Counters.ScriptErrors.Add(1)
		h.report(script.LevelWarn, "Unhandled promise rejection", p.Result())
	}
}

// report logs an error with the stack of the script.
func (h *Handler) report(level script.Level, what string, e goja.Value) {
	_ = h.attempt(func() { h.glue.report.of(h.vm.ToValue(int(level)), h.vm.ToValue(what), e) })
}

// rejection tracks rejected promises that have no handler.
func (h *Handler) rejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		h.rejections = append(h.rejections, p)
		return
	}
	if i := slices.Index(h.rejections, p); i >= 0 {
		h.rejections = slices.Delete(h.rejections, i, i+1)
	}
}

// brief returns the first line of a thrown value, with a hint if modules.Hint has one.
func brief(v goja.Value) (text string) {
	defer func() {
		if recover() != nil { // toString has thrown
			text = "(cannot be printed)"
		}
	}()
	text, _, _ = strings.Cut(v.String(), "\n")
	return text + modules.Hint(text)
}

func own(f goja.StackFrame) bool {
	name := f.SrcName()
	return name != "" && name != "<native>" && !strings.HasPrefix(name, "troupe:") && !strings.HasPrefix(name, "node:")
}

// firstFrame returns the position of the innermost frame in a file of the script.
func firstFrame(stack []goja.StackFrame) (file string, row int) {
	if i := slices.IndexFunc(stack, own); i >= 0 {
		p := stack[i].Position()
		return path.Base(p.Filename), p.Line
	}
	return "script", 0
}

// innermost returns the innermost frames of the script. If there are more than framesMax, it returns
// framesMax+1.
func innermost(stack []goja.StackFrame) (some []goja.StackFrame) {
	for _, f := range stack {
		if len(some) <= framesMax && own(f) {
			some = append(some, f)
		}
	}
	return some
}

// frames formats the innermost frames of the script, one per line, as Node.js does.
func frames(stack []goja.StackFrame) string {
	var b strings.Builder
	for i, f := range innermost(stack) {
		if i == framesMax {
			b.WriteString("\n    ...")
			break
		}
		name, p := f.FuncName(), f.Position()
		if name == "" {
			name = "<anonymous>"
		}
		fmt.Fprintf(&b, "\n    at %s (%s:%d:%d)", name, p.Filename, p.Line, p.Column)
	}
	return b.String()
}

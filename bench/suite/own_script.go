package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// scriptFailed ends a host with the user's own script, and returns what the script did wrong. An error of the measurement is returned
// with the first of it, which is mostly its cause.
func (r *run) scriptFailed(ctx context.Context, proc *server.Process, err error) (server.ScriptErrors, error) {
	if ctx.Err() != nil {
		return server.ScriptErrors{}, err
	}
	failed := proc.ScriptErrors(ctx)
	if err != nil && failed.First != "" {
		err = fmt.Errorf("%w; the script's log says: %s", err, failed.First)
	}
	return failed, err
}

// judgeAnswers says what the answers of a script tell, and what they do not.
func (r *run) judgeAnswers(f result.Figures, load *loadgen.Result, failed server.ScriptErrors) {
	switch {
	case failed.Count > 0 || failed.Stuck:
		r.scriptProvesNothing(failed)
	case r.now == noScript || load.Delivered > 0:
	case f["delivered_per_s"] == 0:
		r.nothingArrived()
	case r.o.own():
		r.warn("no latency: no answer held the time that was sent (put %s into --message, and let the script send it back)", loadgen.Placeholder)
	}
}

// scriptProvesNothing keeps the first failure of the user's own script. The reason names no column: it is one for all of them.
func (r *run) scriptProvesNothing(e server.ScriptErrors) { r.nothingProven(scriptFailure, failure(e)) }

// nothingProven keeps why the figures of all columns prove nothing, unless there is a reason that begins alike.
func (r *run) nothingProven(begins, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.void, func(text string) bool { return strings.HasPrefix(text, begins) }) {
		r.void = append(r.void, reason)
	}
}

const scriptFailure = "your script failed "

// failure says that the user's own script has failed.
func failure(e server.ScriptErrors) string {
	if e.Count == 0 {
		return scriptFailure + "to return from a call: the host did not end in time"
	}
	text := scriptFailure + times(e.Count)
	if e.First != "" {
		text += ", the first: " + e.First
	}
	return text
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// noneCameBack begins why nothing is proven if no player received anything in the measured part.
const noneCameBack = "no message of op code "

// nothingArrived keeps that no player received anything in the measured part, where that may be because of what players sent.
func (r *run) nothingArrived() {
	if r.o.Script == "" && r.o.Against == nil {
		return
	}
	reason := fmt.Sprintf(noneCameBack+"%d came back: does the script pass it on?", cmp.Or(r.o.OpCode, loadgen.OpLoad))
	if !r.o.own() {
		reason += " (--op-code N and --message TEXT are what players send)"
	}
	r.nothingProven(noneCameBack, reason)
}

// refused adds to the error of a refused login why the host may have refused it.
func (r *run) refused(err error) error {
	limits := "its maxPlayers (32 unless it says otherwise) may be reached"
	switch {
	case r.o.Against != nil:
		limits = "its maxPlayers (32 unless it says otherwise) or a limit of the host may be reached"
	case r.o.Script == "":
		return err
	}
	return fmt.Errorf("%w: a script may have said no in onPlayerConnect, or %s", err, limits)
}

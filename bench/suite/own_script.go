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

// scriptFailed stops a host with the user's own script and returns the errors of the script. If the measurement failed,
// the first script error is added to err, because it is usually the cause.
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

// judgeAnswers records what makes the figures of a script invalid or incomplete.
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

// scriptProvesNothing records the first failure of the user's own script. The reason names no subject, so it applies to
// all of them.
func (r *run) scriptProvesNothing(e server.ScriptErrors) { r.nothingProven(scriptFailure, failure(e)) }

// nothingProven records why the figures of all subjects are invalid, unless there is already a reason with the same
// prefix.
func (r *run) nothingProven(begins, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.void, func(text string) bool { return strings.HasPrefix(text, begins) }) {
		r.void = append(r.void, reason)
	}
}

const scriptFailure = "your script failed "

// failure describes the failure of the user's own script.
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

// noneCameBack is the prefix of the reason for invalid figures if no player received a message in the measured part.
const noneCameBack = "no message of op code "

// nothingArrived records that no player received a message in the measured part. It does so only for a script of the
// user or a remote host, where the messages that the players send may be the cause.
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

// refused adds to a refused login why the host may have refused it.
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

package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/messages/lazy"
)

// A script reports each expectation with a line in its log: "troupe.expect ok NAME", or "troupe.expect FAILED NAME".
var expectLine = lazy.Regexp(`(?m)troupe\.expect (ok|FAILED) (.{1,200})$`)

const (
	// expectMax bounds the number of different names that a script may use.
	expectMax = 100
	// ownInvariant replaces the invariant's number in a verdict on a promise of the script.
	ownInvariant = "script"
	// lastLines bounds the wait for the end of the game session and of its log.
	lastLines = 20 * time.Second
)

// expectations counts what a script has reported, by name.
type expectations struct {
	names  []string // in the order of first appearance
	counts map[string]*[2]int
	more   int // lines that were ignored because their name exceeds expectMax
}

// read records the expectations in a log.
func (x *expectations) read(log string) {
	for _, m := range expectLine().FindAllStringSubmatch(log, -1) {
		name := strings.TrimSpace(m[2])
		if x.counts[name] == nil {
			if len(x.names) >= expectMax {
				x.more++
				continue
			}
			if x.counts == nil {
				x.counts = make(map[string]*[2]int)
			}
			x.names = append(x.names, name)
			x.counts[name] = new([2]int)
		}
		x.counts[name][slices.Index([]string{"ok", "FAILED"}, m[1])]++
	}
}

// judge returns a verdict for each name. A name holds if it never failed.
func (x *expectations) judge() (all []Verdict) {
	for _, name := range x.names {
		n := x.counts[name]
		all = append(all, judge(ownInvariant, name, n[1] == 0, "the script said so %d times, and the opposite %d times", n[0], n[1]))
	}
	if x.more > 0 {
		all = append(all, Verdict{Promise: fmt.Sprintf("more than %d promises of the script", expectMax), Invariant: ownInvariant, Outcome: notChecked, Detail: fmt.Sprintf("%d lines of the log", x.more)})
	}
	return all
}

// judgeScript ends a game session whose players have left, so that its script can log its final lines. Then it judges
// what the script reported.
func (r *run) judgeScript(ctx context.Context, session string) ([]Verdict, error) {
	if r.tells() {
		return nil, nil
	}
	short, cancel := context.WithTimeout(ctx, lastLines)
	defer cancel()
	err := r.proc.EndGameSession(short, session)
	log := ""
	if err == nil {
		log, err = r.proc.WholeGameSessionLog(short, session)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.told.read(log)
	all := r.told.judge()
	if err != nil {
		all = append(all, Verdict{Promise: "what the script promises", Invariant: ownInvariant, Outcome: notChecked, Detail: err.Error()})
	}
	return all, nil
}

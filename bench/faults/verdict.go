package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is the result for one promise.
type Verdict struct {
	Promise   string `json:"promise"`
	Invariant string `json:"invariant"` // its id in docs/spec/reliability.md
	Outcome   string `json:"outcome"`   // holds, BROKEN, not checked
	Detail    string `json:"detail"`
}

// The possible outcomes.
const (
	holds      = "holds"
	broken     = "BROKEN"
	notChecked = "not checked"
)

// judge returns a verdict on one promise.
func judge(invariant, promise string, ok bool, detail string, values ...any) Verdict {
	v := Verdict{Promise: promise, Invariant: invariant, Outcome: holds, Detail: fmt.Sprintf(detail, values...)}
	if !ok {
		v.Outcome = broken
	}
	return v
}

// judge returns a verdict that holds if there are no violations.
func (v *violations) judge(invariant, promise, detail string, values ...any) Verdict {
	got := judge(invariant, promise, v.count == 0, detail, values...)
	if v.count > 0 {
		got.Detail += "; " + strings.Join(v.examples, "; ")
	}
	return got
}

// Figures are the measurements of a run.
type Figures struct {
	Sent          uint64  `json:"sent"`   // reliable messages accepted for sending
	Unsent        uint64  `json:"unsent"` // reliable messages not accepted for sending
	Delivered     uint64  `json:"delivered"`
	Lost          uint64  `json:"lost"`
	LostAndTold   uint64  `json:"lostAndTold"` // reported as lost by the host
	Duplicated    uint64  `json:"duplicated"`
	OutOfOrder    uint64  `json:"outOfOrder"`
	FastSent      uint64  `json:"fastSent"`
	FastDelivered uint64  `json:"fastDelivered"`
	Resumes       int     `json:"resumes"`
	ReattachP50Ms float64 `json:"reattachP50Ms"` // from the connection loss, as the player noticed it, to the answer to its login
	ReattachP99Ms float64 `json:"reattachP99Ms"`
	ReattachMaxMs float64 `json:"reattachMaxMs"`
	// SlowestElsewhereMs is how long the slowest message took in game sessions of hosts that no fault hit; 0: not measured.
	SlowestElsewhereMs float64 `json:"slowestElsewhereMs,omitempty"`

	HealedMs float64 `json:"healedMs"` // time from the end of the last fault until everything had arrived

	ResumesFailed  int     `json:"resumesFailed"` // players without a connection at the end
	WrongCallbacks uint64  `json:"wrongCallbacks"`
	Restarts       int64   `json:"restarts"`   // actors of the host that restarted
	HostMiB        float64 `json:"hostMiB"`    // peak memory of the host's process; 0: unknown
	Goroutines     int64   `json:"goroutines"` // goroutines of the host after the players had left; -1: unknown
}

// The bounds of RL-29.
const (
	attachedMax = 10 * time.Second
	emptyMax    = 30 * time.Second
)

// recovery describes how a run recovered after the last fault.
type recovery struct {
	attached time.Duration // until the last player was reconnected
	empty    time.Duration // until no message was missing
	away     []int         // indexes of players without a connection
}

// delivery judges what the players of a game session have received.
func (c *crew) delivery(f *Figures, r recovery) []Verdict {
	sent := make([]uint64, len(c.players))
	for i, p := range c.players {
		sent[i] = p.sent.Load()
		f.Sent += sent[i]
		f.Unsent += p.unsent.Load()
		f.FastSent += p.takenFast.Load()
	}
	var all ledger
	var resumes []time.Duration
	changed := 0
	for _, p := range c.players {
		p.mu.Lock()
		p.ledger.close(sent)
		all.reliable += p.ledger.reliable
		all.fast += p.ledger.fast
		all.lost.join(&p.ledger.lost)
		all.twice.join(&p.ledger.twice)
		all.order.join(&p.ledger.order)
		all.content.join(&p.ledger.content)
		all.fastRule.join(&p.ledger.fastRule)
		all.sender.join(&p.ledger.sender)
		resumes = append(resumes, p.resumes...)
		changed += p.changedPeers
		f.LostAndTold += p.gapLost
		p.mu.Unlock()
	}
	f.Delivered, f.FastDelivered, f.Lost, f.Duplicated, f.OutOfOrder = all.reliable, all.fast, all.lost.count, all.twice.count, all.order.count
	f.Resumes, f.ResumesFailed = len(resumes), len(r.away)
	slices.Sort(resumes)
	f.ReattachP50Ms, f.ReattachP99Ms, f.ReattachMaxMs = quantile(resumes, 50), quantile(resumes, 99), quantile(resumes, 100)
	f.HealedMs = ms(r.empty)
	if all.lost.count <= f.LostAndTold {
		all.lost = violations{}
	}
	return []Verdict{
		all.lost.judge("RL-2", "no reliable message is lost without a word", "%d delivered, %d lost, of which the host reported %d", f.Delivered, f.Lost, f.LostAndTold),
		all.twice.judge("RL-3", "no reliable message arrives twice", "%d did", f.Duplicated),
		all.order.judge("RL-1", "reliable messages of a player arrive in order", "%d did not", f.OutOfOrder),
		all.content.judge("RL-4", "messages arrive as they were sent", "%d did not", all.content.count),
		all.fastRule.judge("RL-5", "no fast message arrives twice, or after a later one", "%d of %d did", all.fastRule.count, f.FastDelivered),
		judge("RL-9", "a player who comes back has the same peer id", changed == 0, "%d of %d resumes changed it", changed, f.Resumes),
		all.sender.judge("RL-10", "the sender of a message is the player who sent it", "%d were not", all.sender.count),
		judge("RL-29", "when the faults are over, all players are back within 10 s and have everything within 30 s",
			len(r.away) == 0 && r.attached <= attachedMax && r.empty <= emptyMax, "back after %v, nothing is missing %v after%s",
			r.attached.Round(time.Millisecond), r.empty.Round(time.Millisecond), c.whyAway(r.away)),
	}
}

// whyAway describes how the first missing player's client ended, for the detail of a verdict.
func (c *crew) whyAway(away []int) string {
	if len(away) == 0 {
		return ""
	}
	p := c.players[away[0]]
	return fmt.Sprintf("; %d players are not back, player %d: %s", len(away), p.index, p.c.End())
}

// judgeFigures judges the figures that a plan requires. It must not be called for a quick run, whose figures differ.
func (p *Plan) judgeFigures(f *Figures, players int) (all []Verdict) {
	if p.Delivered > 0 {
		all = append(all, judge(p.Row, fmt.Sprintf("at least %d messages arrive", p.Delivered), f.Delivered >= p.Delivered, "%d did", f.Delivered))
	}
	if p.FastShare > 0 {
		share := float64(f.FastDelivered) / float64(max(f.FastSent, 1)*uint64(players))
		all = append(all, judge(p.Row, fmt.Sprintf("at least %g %% of the fast messages arrive", 100*p.FastShare), share >= p.FastShare, "%.1f %% did", 100*share))
	}
	if p.BackP99 > 0 {
		all = append(all, judge(p.Row, fmt.Sprintf("99 %% of the players who were cut are back within %v", time.Duration(p.BackP99)),
			f.Resumes > 0 && f.ReattachP99Ms <= ms(time.Duration(p.BackP99)), "%d were cut, p99 is %.0f ms", f.Resumes, f.ReattachP99Ms))
	}
	if p.BackMax > 0 {
		all = append(all, judge(p.Row, fmt.Sprintf("who was cut is back within %v", time.Duration(p.BackMax)),
			f.ReattachMaxMs <= ms(time.Duration(p.BackMax)), "%d were cut, the last was back after %.0f ms", f.Resumes, f.ReattachMaxMs))
	}
	if p.Uncut {
		all = append(all, judge(p.Row, "no player loses its connection", f.Resumes == 0, "%d did", f.Resumes))
	}
	return all
}

// quantile returns a percentile of sorted times in milliseconds, or 0 if there are none.
func quantile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return ms(sorted[min(len(sorted)-1, len(sorted)*percent/100)])
}

func ms(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

package console

import (
	"math"
	"time"

	"troupe/messages/counters"
)

// recent are the latencies of the last minute, or of the time since somebody looks, if that is shorter.
type recent struct {
	Seconds float64           `json:"seconds"` // that they cover
	Latency map[string]timing `json:"latency"`
}

const (
	recentFor = time.Minute     // the time over which latencies are recent
	keepEvery = 5 * time.Second // how far apart the states are that the start of this time is looked for among
)

// latencies are earlier states of the histograms, the oldest first, kept while somebody looks: the last minute is a difference.
type latencies struct {
	states []latencyState // at most recentFor/keepEvery + 2
}

type latencyState struct {
	at                           time.Time
	login, resume, store, placed counters.Cells
}

// recent returns the latencies since the youngest state that is at least recentFor old, or else since the oldest. It returns nil at the first look.
func (l *latencies) recent(now time.Time, n *counters.Set) *recent {
	s := latencyState{now, n.LoginLatency.Cells(), n.ResumeLatency.Cells(), n.StoreLatency.Cells(), n.PlacementLatency.Cells()}
	if k := len(l.states); k > 0 && now.Sub(l.states[k-1].at) > recentFor { // nobody has looked meanwhile
		l.states = nil
	}
	for len(l.states) > 1 && now.Sub(l.states[1].at) >= recentFor {
		l.states = l.states[1:]
	}
	var shown *recent
	if len(l.states) > 0 {
		from := l.states[0]
		shown = &recent{math.Round(now.Sub(from.at).Seconds()), map[string]timing{
			"login": timingOf(s.login.Since(from.login)), "resume": timingOf(s.resume.Since(from.resume)),
			"storeCommit": timingOf(s.store.Since(from.store)), "placement": timingOf(s.placed.Since(from.placed)),
		}}
	}
	if k := len(l.states); k == 0 || now.Sub(l.states[k-1].at) >= keepEvery {
		l.states = append(l.states, s)
	}
	return shown
}

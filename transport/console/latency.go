package console

import (
	"math"
	"time"

	"troupe/messages/counters"
)

// recent has the latencies of the last minute. If nobody has requested overviews for a minute, the period is
// shorter.
type recent struct {
	Seconds float64           `json:"seconds"` // length of the period
	Latency map[string]timing `json:"latency"`
}

const (
	recentFor = time.Minute     // period of the recent latencies
	keepEvery = 5 * time.Second // minimum distance of stored states, which determines how exact the period is
)

// latencies stores earlier states of the histograms, oldest first, while somebody requests overviews. The
// latencies of a period are the difference of two states.
type latencies struct {
	states []latencyState // at most recentFor/keepEvery + 2 states
}

type latencyState struct {
	at                           time.Time
	login, resume, store, placed counters.Cells
}

// recent returns the latencies since the newest state that is at least recentFor old. If no state is that
// old, it uses the oldest one. It returns nil for the first overview.
func (l *latencies) recent(now time.Time, n *counters.Set) *recent {
	s := latencyState{now, n.LoginLatency.Cells(), n.ResumeLatency.Cells(), n.StoreLatency.Cells(), n.PlacementLatency.Cells()}
	if k := len(l.states); k > 0 && now.Sub(l.states[k-1].at) > recentFor { // nobody has requested an overview for that long
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

package faults

import (
	"slices"
	"sync"
	"time"

	"troupe/bench/loadgen"
)

// Moment is a stretch of a run. Messages belong to the moment in which they were sent, also if they arrived later.
type Moment struct {
	At         float64        `json:"at_s"` // its start, from the start of the plan
	Sent       int            `json:"sent"` // reliable messages that were accepted for sending
	Delivered  int            `json:"delivered"`
	P50Ms      float64        `json:"p50_ms"` // from sending to arrival, of reliable messages
	P99Ms      float64        `json:"p99_ms"`
	MaxMs      float64        `json:"max_ms"`
	Lost       int            `json:"lost,omitempty"`
	Duplicated int            `json:"duplicated,omitempty"`
	Attached   int            `json:"attached"` // players; the fewest in that time
	Resumes    int            `json:"resumes,omitempty"`
	Callbacks  map[string]int `json:"callbacks,omitempty"` // by name
}

// Absence is a stretch of time without a connection of one player, as the player noticed it.
type Absence struct {
	Player int     `json:"player"`
	From   float64 `json:"from_s"` // from the start of the plan
	To     float64 `json:"to_s"`
}

const (
	// momentsAim is in how many moments the time of a plan is divided, momentMin the shortest.
	momentsAim = 80
	momentMin  = 50 * time.Millisecond
	// momentsMax bounds a timeline: what comes later belongs to the last moment.
	momentsMax = 2000
)

// timeline collects what happened when. Its methods may be called from any goroutine.
type timeline struct {
	width time.Duration

	mu        sync.Mutex // guards what follows
	began     time.Time
	moments   []Moment
	latencies []*loadgen.Histogram // of each moment
	absences  []Absence
	gone      map[int]time.Time // players who are away
}

func newTimeline(length time.Duration) *timeline {
	return &timeline{began: time.Now(), width: max(momentMin, (length / momentsAim).Round(10*time.Millisecond)), gone: make(map[int]time.Time)}
}

// begin sets the time 0.
func (t *timeline) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Now()
}

// at returns the index of the moment of a time. The caller holds mu.
func (t *timeline) at(when time.Time) int {
	i := min(max(int(when.Sub(t.began)/t.width), 0), momentsMax-1)
	for n := len(t.moments); n <= i; n++ {
		t.moments = append(t.moments, Moment{At: (time.Duration(n) * t.width).Seconds()})
		t.latencies = append(t.latencies, loadgen.NewRecentHistogram())
	}
	return i
}

// arrived counts a reliable message.
func (t *timeline) arrived(sent time.Time, late time.Duration, twice bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.at(sent)
	if twice {
		t.moments[i].Duplicated++
		return
	}
	t.moments[i].Delivered++
	t.latencies[i].Record(late)
}

// count counts something of the moment of a time.
func (t *timeline) count(when time.Time, what func(m *Moment)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what(&t.moments[t.at(when)])
}

// called counts a callback of the script.
func (t *timeline) called(when time.Time, name string) {
	t.count(when, func(m *Moment) {
		if m.Callbacks == nil {
			m.Callbacks = make(map[string]int)
		}
		m.Callbacks[name]++
	})
}

// away tells that a player has no connection since a time, back that it has one again.
func (t *timeline) away(player int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.gone[player]; !known {
		t.gone[player] = since
	}
}

func (t *timeline) back(player int, when time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, known := t.gone[player]
	if !known {
		return
	}
	delete(t.gone, player)
	t.absences = append(t.absences, Absence{player, t.seconds(since), t.seconds(when)})
}

// seconds is a time from the start of the plan, to the millisecond.
func (t *timeline) seconds(when time.Time) float64 {
	return max(when.Sub(t.began).Round(time.Millisecond).Seconds(), 0)
}

// close returns what was collected. Players who are away stay so to the end.
func (t *timeline) close(players int) ([]Moment, []Absence) {
	now := time.Now()
	t.mu.Lock()
	gone := make([]int, 0, len(t.gone))
	for player := range t.gone {
		gone = append(gone, player)
	}
	t.mu.Unlock()
	for _, player := range gone {
		t.back(player, now)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.moments {
		m := &t.moments[i]
		q := t.latencies[i].Quantiles()
		m.P50Ms, m.P99Ms, m.MaxMs = ms(q.P50), ms(q.P99), ms(q.Max)
		away := make(map[int]bool)
		for _, a := range t.absences {
			if a.From < m.At+t.width.Seconds() && a.To >= m.At {
				away[a.Player] = true
			}
		}
		m.Attached = players - len(away)
	}
	return slices.Clone(t.moments), slices.Clone(t.absences)
}

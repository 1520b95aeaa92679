package faults

import (
	"slices"
	"sync"
	"time"

	"troupe/bench/loadgen"
)

// Moment is one interval of a run. A message belongs to the moment in which it was sent, even if it arrived later.
type Moment struct {
	At         float64        `json:"at_s"` // start of the moment, in seconds since the start of the plan
	Sent       int            `json:"sent"` // reliable messages accepted for sending
	Delivered  int            `json:"delivered"`
	P50Ms      float64        `json:"p50_ms"` // latency of reliable messages, from sending to arrival
	P99Ms      float64        `json:"p99_ms"`
	MaxMs      float64        `json:"max_ms"`
	Lost       int            `json:"lost,omitempty"`
	Duplicated int            `json:"duplicated,omitempty"`
	Attached   int            `json:"attached"` // smallest number of connected players
	Resumes    int            `json:"resumes,omitempty"`
	Callbacks  map[string]int `json:"callbacks,omitempty"` // by name
}

// Absence is an interval in which one player had no connection, as seen by the player.
type Absence struct {
	Player int     `json:"player"`
	From   float64 `json:"from_s"` // in seconds since the start of the plan
	To     float64 `json:"to_s"`
}

const (
	// momentsAim is the number of moments into which a plan is divided. momentMin is the shortest moment.
	momentsAim = 80
	momentMin  = 50 * time.Millisecond
	// momentsMax bounds the number of moments. Later times belong to the last moment.
	momentsMax = 2000
)

// timeline records when things happened. Its methods may be called from any goroutine.
type timeline struct {
	width time.Duration

	mu        sync.Mutex // guards the fields below
	began     time.Time
	moments   []Moment
	latencies []*loadgen.Histogram // one histogram per moment
	absences  []Absence
	gone      map[int]time.Time // when each disconnected player lost its connection
}

func newTimeline(length time.Duration) *timeline {
	return &timeline{began: time.Now(), width: max(momentMin, (length / momentsAim).Round(10*time.Millisecond)), gone: make(map[int]time.Time)}
}

// begin sets the start of the timeline to the current time.
func (t *timeline) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Now()
}

// at returns the index of the moment that contains when. It adds moments as needed. The caller holds mu.
func (t *timeline) at(when time.Time) int {
	i := min(max(int(when.Sub(t.began)/t.width), 0), momentsMax-1)
	for n := len(t.moments); n <= i; n++ {
		t.moments = append(t.moments, Moment{At: (time.Duration(n) * t.width).Seconds()})
		t.latencies = append(t.latencies, loadgen.NewRecentHistogram())
	}
	return i
}

// arrived records the arrival of a reliable message.
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

// count changes the moment that contains when by calling what.
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

// away records when a player lost its connection. back records when the player had one again.
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

// seconds returns the time since the start of the plan in seconds, rounded to milliseconds.
func (t *timeline) seconds(when time.Time) float64 {
	return max(when.Sub(t.began).Round(time.Millisecond).Seconds(), 0)
}

// close returns the collected moments and absences. The absence of a disconnected player ends now.
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

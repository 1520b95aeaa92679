package console

import (
	"maps"
	"math"
	"net/http"
	"runtime/metrics"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

type overview struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Node    string    `json:"node"` // the node that answers; empty without a cluster
	// Nodes is the number of nodes whose figures are added up; 0 without a cluster. Latencies are those of the slowest.
	Nodes         int              `json:"nodes"`
	SilentNodes   []string         `json:"silentNodes"` // nodes that did not answer; their figures are missing
	UptimeSeconds float64          `json:"uptimeSeconds"`
	Draining      bool             `json:"draining"`
	Players       map[string]int64 `json:"players"`      // by state
	GameSessions  map[string]int64 `json:"gameSessions"` // by status
	Connections   map[string]int64 `json:"connections"`  // by transport
	Totals        totals           `json:"totals"`
	// dropped packets by reason, including messages of scripts that were refused; reasons with 0 are left out
	Drops   map[string]int64  `json:"drops"`
	Rates   *rates            `json:"rates"`   // null until two overviews are a second apart
	Latency map[string]timing `json:"latency"` // since the start of the host
	Recent  *recent           `json:"recent"`  // during the last minute; null for the first overview
	Process process           `json:"process"`
}

// totals are counted since the start of the host.
type totals struct {
	MessagesIn        int64 `json:"messagesIn"`
	MessagesDelivered int64 `json:"messagesDelivered"`
	BytesIn           int64 `json:"bytesIn"`
	BytesOut          int64 `json:"bytesOut"`
	Logins            int64 `json:"logins"` // includes refused logins
	Resumes           int64 `json:"resumes"`
	Lost              int64 `json:"lost"`
	Dropped           int64 `json:"dropped"`
	SlowConsumers     int64 `json:"slowConsumers"`
	ScriptErrors      int64 `json:"scriptErrors"`
	ActorPanics       int64 `json:"actorPanics"`
	APIRequests       int64 `json:"apiRequests"`
	APIErrors         int64 `json:"apiErrors"`
}

// rates are averages per second between two overviews.
type rates struct {
	Seconds           float64 `json:"seconds"` // time between the two overviews
	MessagesIn        float64 `json:"messagesIn"`
	MessagesDelivered float64 `json:"messagesDelivered"`
	BytesIn           float64 `json:"bytesIn"`
	BytesOut          float64 `json:"bytesOut"`
	Logins            float64 `json:"logins"`
	Resumes           float64 `json:"resumes"`
	Dropped           float64 `json:"dropped"`
	APIRequests       float64 `json:"apiRequests"`
	CPU               float64 `json:"cpu"` // processors in use; 0 if unknown
}

// timing summarizes a histogram of durations. Each quantile is the upper end of its bucket. It is null if the
// histogram is empty, or if the quantile is above the last bucket.
type timing struct {
	Count      uint64   `json:"count"`
	P50Seconds *float64 `json:"p50Seconds"`
	P99Seconds *float64 `json:"p99Seconds"`
}

type process struct {
	PID           int     `json:"pid"`
	Go            string  `json:"go"`
	Processors    int     `json:"processors"`
	Goroutines    uint64  `json:"goroutines"`
	HeapBytes     uint64  `json:"heapBytes"`     // bytes of live objects and of garbage that is not collected yet
	ResidentBytes int64   `json:"residentBytes"` // 0 if unknown
	CPUSeconds    float64 `json:"cpuSeconds"`    // 0 if unknown
}

// sampler creates at most one overview in sampleLife and shares it between all callers. It also stores an
// earlier overview, from which it computes rates.
type sampler struct {
	turn         chan struct{} // mutex for the fields below
	last, before *overview
	lastAt       time.Time
	beforeAt     time.Time
	latencies    latencies
}

const (
	sampleLife = 900 * time.Millisecond
	rateMax    = 30 * time.Second // maximum period of a rate; over a longer one it would not be current
)

func (c *Console) sample() *overview {
	s := &c.samples
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	now := time.Now() // has a monotonic clock reading
	if s.last != nil && now.Sub(s.lastAt) < sampleLife {
		return s.last
	}
	s.before, s.beforeAt = s.last, s.lastAt
	s.last, s.lastAt = c.look(), now
	if d := now.Sub(s.beforeAt); s.before != nil && d <= rateMax {
		s.last.Rates = ratesOf(s.before, s.last, d.Seconds())
	}
	s.last.Recent = s.latencies.recent(now, c.o.Counters)
	return s.last
}

// look creates an overview from counters. It sends no message to an actor.
func (c *Console) look() *overview {
	n := c.o.Counters
	o := &overview{
		At: time.Now().UTC(), Version: c.o.Version, Node: c.nodeName(), SilentNodes: []string{}, UptimeSeconds: math.Floor(time.Since(c.began).Seconds()), Draining: n.Draining.Load() > 0,
		Players: values(&n.Players), GameSessions: values(&n.GameSessions), Connections: values(&n.Connections),
		Totals: totals{
			MessagesIn: n.MessagesIn.Total(), MessagesDelivered: n.Delivered.Total(), BytesIn: n.BytesIn.Total(), BytesOut: n.BytesOut.Total(),
			Logins: n.Logins.Total(), Resumes: n.Resumes.Total(), Lost: n.Lost.Load(), Dropped: n.Dropped.Total(), SlowConsumers: n.SlowConsumers.Load(),
			ScriptErrors: n.ScriptErrors.Load() + n.HandlerErrors.Load(), ActorPanics: n.ActorPanics.Load(), APIRequests: n.APIRequests.Load(), APIErrors: n.APIErrors.Load(),
		},
		Drops:   values(&n.Dropped),
		Latency: map[string]timing{"login": timingOf(n.LoginLatency.Cells()), "resume": timingOf(n.ResumeLatency.Cells()), "storeCommit": timingOf(n.StoreLatency.Cells()), "placement": timingOf(n.PlacementLatency.Cells())},
	}
	maps.DeleteFunc(o.Drops, func(_ string, n int64) bool { return n == 0 })
	figures := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(figures)
	p := ops.ReadProcess()
	o.Process = process{
		PID: p.PID, Go: p.Go, Processors: p.Processors, ResidentBytes: p.ResidentBytes, CPUSeconds: p.UserSeconds + p.SystemSeconds,
		Goroutines: figures[0].Value.Uint64(), HeapBytes: figures[1].Value.Uint64(),
	}
	return o
}

func values[L counters.Label](v *counters.Vec[L]) map[string]int64 {
	all := make(map[string]int64)
	v.Values(func(label string, n int64) { all[label] = n })
	return all
}

func timingOf(c counters.Cells) timing {
	return timing{c.Count(), finite(c.Quantile(0.5)), finite(c.Quantile(0.99))}
}

func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func ratesOf(a, b *overview, seconds float64) *rates {
	per := func(before, after int64) float64 { return math.Round(float64(after-before)/seconds*10) / 10 }
	x, y := &a.Totals, &b.Totals
	return &rates{
		Seconds: seconds, MessagesIn: per(x.MessagesIn, y.MessagesIn), MessagesDelivered: per(x.MessagesDelivered, y.MessagesDelivered),
		BytesIn: per(x.BytesIn, y.BytesIn), BytesOut: per(x.BytesOut, y.BytesOut), Logins: per(x.Logins, y.Logins), Resumes: per(x.Resumes, y.Resumes),
		Dropped: per(x.Dropped, y.Dropped), APIRequests: per(x.APIRequests, y.APIRequests),
		CPU: math.Round((b.Process.CPUSeconds-a.Process.CPUSeconds)/seconds*1000) / 1000,
	}
}

func (c *Console) overview(w http.ResponseWriter, r *http.Request, q query) *problem {
	if q.text("node") != "" {
		return answer(w, c.sample())
	}
	return answer(w, c.sampleAll(r.Context()))
}

// me describes the caller, and has the CSRF token that a browser must send with an action.
type me struct {
	Name      string     `json:"name"`
	Role      string     `json:"role"` // reader or operator
	CSRFToken string     `json:"csrfToken"`
	Expires   *time.Time `json:"expires"` // expiry of the login; null without a login
	Version   string     `json:"version"`
	Node      string     `json:"node"` // the node that answers; empty without a cluster
}

func (c *Console) describe(who caller) me {
	m := me{Name: who.name, Role: who.role.String(), CSRFToken: who.csrf, Version: c.o.Version, Node: c.nodeName()}
	if !who.expires.IsZero() {
		m.Expires = &who.expires
	}
	return m
}

func (c *Console) me(w http.ResponseWriter, _ *http.Request, q query) *problem {
	return answer(w, c.describe(q.who))
}

func (c *Console) openAPI(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	text, err := files.ReadFile("openapi.yaml")
	if err != nil {
		return refused(err)
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(text)
	return nil
}

func (c *Console) drainState(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	return answer(w, c.o.Drains.Drains())
}

func (c *Console) drain(w http.ResponseWriter, r *http.Request, q query) *problem {
	grace, err := ops.ParseGrace(q.text("grace"))
	if err != nil {
		return invalid("%v", err)
	}
	c.o.Drains.StartDrain(grace)
	return c.drainState(w, r, q)
}

func (c *Console) cancelDrain(w http.ResponseWriter, r *http.Request, q query) *problem {
	if err := c.o.Drains.CancelDrain(r.Context()); err != nil {
		return refusal(http.StatusConflict, "Conflict", err.Error())
	}
	return c.drainState(w, r, q)
}

// timeOf returns a record's time, or nil if the time is zero.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = messages.Shown(t).UTC()
	return &t
}

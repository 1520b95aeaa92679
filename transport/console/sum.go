package console

import (
	"context"
	"maps"
	"net/http"
)

// sampleAll returns the overview of all nodes of the cluster, or of this host if it has no cluster. A node that does
// not answer is named instead.
func (c *Console) sampleAll(ctx context.Context) *overview {
	own := c.sample()
	if c.o.Cluster == nil {
		return own
	}
	others, silent := gather[overview](ctx, c, http.MethodGet, "overview", query{})
	sum := *own
	sum.Nodes, sum.SilentNodes = 1+len(others), silent
	for _, counts := range []*map[string]int64{&sum.Players, &sum.GameSessions, &sum.Connections, &sum.Drops} {
		*counts = maps.Clone(*counts)
	}
	sum.Latency = maps.Clone(sum.Latency)
	if own.Rates != nil {
		sum.Rates = new(*own.Rates)
	}
	if own.Recent != nil {
		sum.Recent = &recent{own.Recent.Seconds, maps.Clone(own.Recent.Latency)}
	}
	for i := range others {
		sum.add(&others[i])
	}
	return &sum
}

func (o *overview) add(other *overview) {
	addCounts(o.Players, other.Players)
	addCounts(o.GameSessions, other.GameSessions)
	addCounts(o.Connections, other.Connections)
	addCounts(o.Drops, other.Drops)
	slowest(o.Latency, other.Latency)
	if o.Recent != nil && other.Recent != nil {
		slowest(o.Recent.Latency, other.Recent.Latency)
	}
	o.Totals.add(&other.Totals)
	if o.Rates != nil && other.Rates != nil {
		o.Rates.add(other.Rates)
	}
	p, q := &o.Process, &other.Process
	p.Processors += q.Processors
	p.Goroutines += q.Goroutines
	p.HeapBytes += q.HeapBytes
	p.ResidentBytes += q.ResidentBytes
	p.CPUSeconds += q.CPUSeconds
}

func addCounts(to, from map[string]int64) {
	for name, n := range from {
		to[name] += n
	}
}

// slowest keeps the greater of both quantiles, and adds the counts.
func slowest(to, from map[string]timing) {
	greater := func(a, b *float64) *float64 {
		if a == nil || b != nil && *b > *a {
			return b
		}
		return a
	}
	for name, t := range from {
		is := to[name]
		to[name] = timing{is.Count + t.Count, greater(is.P50Seconds, t.P50Seconds), greater(is.P99Seconds, t.P99Seconds)}
	}
}

func (t *totals) add(o *totals) {
	t.MessagesIn += o.MessagesIn
	t.MessagesDelivered += o.MessagesDelivered
	t.BytesIn += o.BytesIn
	t.BytesOut += o.BytesOut
	t.Logins += o.Logins
	t.Resumes += o.Resumes
	t.Lost += o.Lost
	t.Dropped += o.Dropped
	t.SlowConsumers += o.SlowConsumers
	t.ScriptErrors += o.ScriptErrors
	t.ActorPanics += o.ActorPanics
	t.APIRequests += o.APIRequests
	t.APIErrors += o.APIErrors
}

func (r *rates) add(o *rates) {
	r.MessagesIn += o.MessagesIn
	r.MessagesDelivered += o.MessagesDelivered
	r.BytesIn += o.BytesIn
	r.BytesOut += o.BytesOut
	r.Logins += o.Logins
	r.Resumes += o.Resumes
	r.Dropped += o.Dropped
	r.APIRequests += o.APIRequests
	r.CPU += o.CPU
}

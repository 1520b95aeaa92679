package ops

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors"
	"troupe/messages"
	"troupe/messages/counters"
)

// collector exports a counters.Set, and figures that it reads from the actors, as Prometheus
// metrics.
type collector struct {
	metrics []metric
	build   prometheus.Metric
}

// metric is one exported metric: collect passes each of its values to show.
type metric struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(show func(v float64, labels ...string))
	// histogram is set instead of collect.
	histogram *counters.Histogram
}

// asked are metrics without a counter: a scrape reads them from the actors.
var asked = []struct {
	name, help, label string
	collect           func(s *actors.System, show func(v float64, labels ...string))
}{
	{"troupe_actors", "Running actors, by kind.", "kind", func(s *actors.System, show func(float64, ...string)) {
		for k := counters.ActorKind(1); k.String() != ""; k++ {
			show(float64(s.Live(k)), k.String())
		}
	}},
	{"troupe_ready_mailboxes", "Mailboxes with messages that wait for a free worker.", "", func(s *actors.System, show func(float64, ...string)) {
		show(float64(s.Ready()))
	}},
	{"troupe_mailbox_depth", "Messages waiting in mailboxes: of the registry, of all game sessions together, and of the busiest game session.", "mailbox", depth},
}

func newCollector(o Options) *collector {
	c := &collector{build: prometheus.MustNewConstMetric(
		prometheus.NewDesc("troupe_build_info", "Always 1; the label is the version of the running build.", []string{"version"}, nil), prometheus.GaugeValue, 1, o.Version)}
	for _, m := range o.Counters.Metrics() {
		c.metrics = append(c.metrics, counted(m))
	}
	for _, a := range asked {
		c.metrics = append(c.metrics, metric{desc: describe(a.name, a.help, a.label), kind: prometheus.GaugeValue,
			collect: func(show func(float64, ...string)) { a.collect(o.System, show) }})
	}
	return c
}

// counted returns the metric of a counter of a Set.
func counted(m counters.Metric) metric {
	shown := metric{desc: describe(m.Name, m.Help, m.Label), kind: prometheus.GaugeValue}
	if m.Counter() {
		shown.kind = prometheus.CounterValue
	}
	switch n := m.Number.(type) {
	case *atomic.Int64:
		shown.collect = func(show func(float64, ...string)) { show(float64(n.Load())) }
	case *counters.Histogram:
		shown.histogram = n
	case interface {
		Values(f func(label string, n int64))
	}:
		shown.collect = func(show func(float64, ...string)) {
			n.Values(func(label string, n int64) { show(float64(n), label) })
		}
	case *[5000]atomic.Uint32: // indexed by the number of a close reason
		shown.collect = func(show func(float64, ...string)) {
			for _, r := range messages.CloseReasons() {
				show(float64(n[r].Load()), r.String())
			}
		}
	default:
		panic(fmt.Sprintf("ops: %s is of type %T, which is not shown", m.Name, n))
	}
	return shown
}

func describe(name, help, label string) *prometheus.Desc {
	if label == "" {
		return prometheus.NewDesc(name, help, nil, nil)
	}
	return prometheus.NewDesc(name, help, []string{label}, nil)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
	ch <- c.build.Desc()
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ch <- c.build
	for _, m := range c.metrics {
		if m.histogram != nil {
			count, sum, buckets := m.histogram.Snapshot()
			ch <- prometheus.MustNewConstHistogram(m.desc, count, sum, buckets)
			continue
		}
		m.collect(func(v float64, labels ...string) { ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...) })
	}
}

// depthTimeout bounds how long a scrape waits for the registry's answer. After it, the depth
// is left out.
const depthTimeout = 500 * time.Millisecond

func depth(s *actors.System, show func(v float64, labels ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), depthTimeout)
	defer cancel()
	d, err := s.Depth(ctx)
	if err != nil {
		return
	}
	show(float64(d.Registry), "registry")
	show(float64(d.GameSessions), "game_sessions")
	show(float64(d.Busiest), "busiest_game_session")
}

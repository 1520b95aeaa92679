package ops

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	// histogram or histograms are set instead of collect.
	histogram  *counters.Histogram
	histograms *counters.Histograms
}

// asked are metrics without a counter: a scrape reads them from the actors and the parts of the
// host. With more than one label, their names are separated by commas.
var asked = []struct {
	name, help, label string // a name that ends with _total is of a counter
	collect           func(o *Options, show func(v float64, labels ...string))
}{
	{"troupe_actors", "Running actors, by kind.", "kind", func(o *Options, show func(float64, ...string)) {
		for k := counters.ActorKind(1); k.String() != ""; k++ {
			show(float64(o.System.Live(k)), k.String())
		}
	}},
	{"troupe_ready_mailboxes", "Mailboxes with messages that wait for a free worker.", "", func(o *Options, show func(float64, ...string)) {
		show(float64(o.System.Ready()))
	}},
	{"troupe_mailbox_depth", "Messages waiting in mailboxes: of the registry, of all game sessions together, and of the busiest game session.", "mailbox", depth},
	{"troupe_fleet_free_game_sessions", "Game sessions that a fleet could start now in a location; 0 while it is full. Not there if the fleet is scaled to 0 or being deleted.", "fleet,location", func(o *Options, show func(float64, ...string)) {
		room(o, func(r messages.FleetRoom) {
			if !r.Closed { // nobody is to be woken because it is full
				show(float64(r.Free), string(r.FleetID), r.Location)
			}
		})
	}},
	{"troupe_fleet_game_sessions", "Game sessions of a fleet in a location that have not ended.", "fleet,location", func(o *Options, show func(float64, ...string)) {
		room(o, func(r messages.FleetRoom) { show(float64(r.GameSessions), string(r.FleetID), r.Location) })
	}},
	{"troupe_queued_bytes", "Bytes that wait in the queues of players, not counting the first 16 KiB of each queue.", "", func(o *Options, show func(float64, ...string)) {
		if o.Queued != nil {
			used, _ := o.Queued()
			show(float64(used))
		}
	}},
	{"troupe_queued_bytes_max", "Bytes that may wait in the queues of all players together, not counting the first 16 KiB of each queue.", "", func(o *Options, show func(float64, ...string)) {
		if o.Queued != nil {
			_, most := o.Queued()
			show(float64(most))
		}
	}},
	{"troupe_store_bytes", "Size of the files of the store.", "", func(o *Options, show func(float64, ...string)) {
		if o.StoreBytes == nil {
			return
		}
		if n, err := o.StoreBytes(); err == nil {
			show(float64(n))
		}
	}},
	{"troupe_certificate_end_timestamp_seconds", "Unix time at which a certificate ends: the served one, and the one that only the operator can replace (tls.certFile, or the authority of tls.dir).", "certificate", func(o *Options, show func(float64, ...string)) {
		if o.CertificateEnds != nil {
			served, operator := o.CertificateEnds()
			show(float64(served.Unix()), "served")
			show(float64(operator.Unix()), "operator")
		}
	}},
	{"troupe_matchmaking_waiting", "Matchmaking tickets that wait for a match, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.Waiting) })},
	{"troupe_matchmaking_matched_total", "Matchmaking tickets that are COMPLETED, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.Completed) })},
	{"troupe_matchmaking_timed_out_total", "Matchmaking tickets that found no match in time, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.TimedOut) })},
}

func newCollector(o Options) *collector {
	c := &collector{build: prometheus.MustNewConstMetric(
		prometheus.NewDesc("troupe_build_info", "Always 1; the label is the version of the running build.", []string{"version"}, nil), prometheus.GaugeValue, 1, o.Version)}
	for _, m := range o.Counters.Metrics() {
		c.metrics = append(c.metrics, counted(m))
	}
	for _, a := range asked {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(a.name, "_total") {
			kind = prometheus.CounterValue
		}
		c.metrics = append(c.metrics, metric{desc: describe(a.name, a.help, a.label), kind: kind,
			collect: func(show func(float64, ...string)) { a.collect(&o, show) }})
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
	case *counters.Histograms:
		shown.histograms = n
	case *counters.Pairs:
		shown.collect = func(show func(float64, ...string)) {
			n.All(func(a, b string, n int64) { show(float64(n), a, b) })
		}
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

func describe(name, help, labels string) *prometheus.Desc {
	if labels == "" {
		return prometheus.NewDesc(name, help, nil, nil)
	}
	return prometheus.NewDesc(name, help, strings.Split(labels, ","), nil)
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
		switch {
		case m.histogram != nil:
			ch <- constHistogram(m.desc, m.histogram)
			continue
		case m.histograms != nil:
			m.histograms.All(func(label string, h *counters.Histogram) { ch <- constHistogram(m.desc, h, label) })
			continue
		}
		m.collect(func(v float64, labels ...string) { ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...) })
	}
}

func constHistogram(desc *prometheus.Desc, h *counters.Histogram, labels ...string) prometheus.Metric {
	count, sum, buckets := h.Snapshot()
	return prometheus.MustNewConstHistogram(desc, count, sum, buckets, labels...)
}

// answerTimeout bounds how long a metric waits for the answer of an actor. After it, the
// metric is left out.
const answerTimeout = 500 * time.Millisecond

// told asks the actors. Without an answer in time there is none, and ok is false.
func told[A any](o *Options, q messages.RequestOf[A]) (answer A, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	answer, err := messages.Do(ctx, o.System, q)
	return answer, err == nil
}

// room calls show for the fleets of the host, at most messages.FleetRoomMax times.
func room(o *Options, show func(messages.FleetRoom)) {
	all, _ := told(o, messages.FleetRoomQuery{})
	for _, r := range all {
		show(r)
	}
}

func depth(o *Options, show func(v float64, labels ...string)) {
	d, ok := told(o, messages.DepthQuery{})
	if !ok {
		return
	}
	show(float64(d.Registry), "registry")
	show(float64(d.GameSessions), "game_sessions")
	show(float64(d.Busiest), "busiest_game_session")
}

// configurationsMax bounds the labels of metrics by matchmaking configuration; the others share one, whose name no configuration can have.
const (
	configurationsMax   = 100
	otherConfigurations = "(others)"
)

// matchmaking returns the function of a metric by matchmaking configuration.
func matchmaking(value func(*messages.MatchmakerState) float64) func(*Options, func(float64, ...string)) {
	return func(o *Options, show func(float64, ...string)) {
		all, _ := told(o, messages.MatchmakerStateQuery{})
		others := 0.0
		for i := range all {
			if i < configurationsMax {
				show(value(&all[i]), string(all[i].Name))
			} else {
				others += value(&all[i])
			}
		}
		if len(all) > configurationsMax {
			show(others, otherConfigurations)
		}
	}
}

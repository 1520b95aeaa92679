package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/cluster"
	"troupe/messages"
	"troupe/messages/counters"
)

// collector exports a counters.Set as Prometheus metrics, together with figures that it queries from the
// actors.
type collector struct{ metrics []metric }

// metric is one exported metric. collect passes each of its values to show, or a histogram to histogram.
type metric struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(show show, histogram func(h *counters.Histogram, labels ...string))
}

// show receives one value of a metric.
type show = func(v float64, labels ...string)

// asked are metrics that are not counters of a Set. A scrape queries their values from the actors and the
// other parts of the host. Several label names are separated by commas.
var asked = []struct {
	name, help, label string // a metric whose name ends with _total is a counter
	collect           func(o *Options, show show)
}{
	{"troupe_build_info", "Always 1; the label is the version of the running build.", "version", func(o *Options, show show) { show(1, o.Version) }},
	{"troupe_actors", "Running actors, by kind.", "kind", func(o *Options, show show) {
		for k := counters.ActorKind(1); k.String() != ""; k++ {
			show(float64(o.System.Live(k)), k.String())
		}
	}},
	{"troupe_ready_mailboxes", "Mailboxes with messages that wait for a free worker.", "", func(o *Options, show show) { show(float64(o.System.Ready())) }},
	{"troupe_mailbox_depth", "Messages waiting in mailboxes: of the registry, of all game sessions together, and of the busiest game session.", "mailbox", func(o *Options, show show) {
		told(o, messages.DepthQuery{}, func(d messages.Depths) {
			show(float64(d.Registry), "registry")
			show(float64(d.GameSessions), "game_sessions")
			show(float64(d.Busiest), "busiest_game_session")
		})
	}},
	{"troupe_fleet_free_game_sessions", "Game sessions that a fleet could start now in a location; 0 while it is full. Not there if the fleet is scaled to 0 or being deleted.", "fleet,location", func(o *Options, show show) {
		told(o, messages.FleetRoomQuery{}, func(all []messages.FleetRoom) {
			for _, r := range all {
				if !r.Closed { // a fleet that accepts no game sessions must not look full to an alert
					show(float64(r.Free), string(r.FleetID), r.Location)
				}
			}
		})
	}},
	{"troupe_fleet_game_sessions", "Game sessions of a fleet in a location that have not ended.", "fleet,location", func(o *Options, show show) {
		told(o, messages.FleetRoomQuery{}, func(all []messages.FleetRoom) {
			for _, r := range all {
				show(float64(r.GameSessions), string(r.FleetID), r.Location)
			}
		})
	}},
	{"troupe_queued_bytes", "Bytes that wait in the queues of players, not counting the first 16 KiB of each queue.", "", func(o *Options, show show) {
		if o.Queued != nil {
			used, _ := o.Queued()
			show(float64(used))
		}
	}},
	{"troupe_queued_bytes_max", "Bytes that may wait in the queues of all players together, not counting the first 16 KiB of each queue.", "", func(o *Options, show show) {
		if o.Queued != nil {
			_, most := o.Queued()
			show(float64(most))
		}
	}},
	{"troupe_store_bytes", "Size of the files of the store.", "", func(o *Options, show show) {
		if o.StoreBytes == nil {
			return
		}
		if n, err := o.StoreBytes(); err == nil {
			show(float64(n))
		}
	}},
	{"troupe_certificate_end_timestamp_seconds", "Unix time at which a certificate ends: the served one, and the one that only the operator can replace (tls.certFile, or the authority of tls.dir).", "certificate", func(o *Options, show show) {
		if o.CertificateEnds != nil {
			served, operator := o.CertificateEnds()
			show(float64(served.Unix()), "served")
			show(float64(operator.Unix()), "operator")
		}
	}},
	{"troupe_cluster_nodes", "Nodes of the cluster as this node sees them, by state; lost ones are known to the leader alone, for ten minutes.", "state", func(o *Options, show show) {
		if o.Cluster == nil {
			return
		}
		number := make(map[cluster.State]int)
		for _, m := range o.Cluster.View().Members {
			number[m.State]++
		}
		for s := cluster.Live; s <= cluster.Lost; s++ {
			show(float64(number[s]), s.String())
		}
	}},
	{"troupe_cluster_leader", "1 if this node leads, 0 if another one does; not there while this node knows no leader.", "", func(o *Options, show show) {
		if o.Cluster == nil {
			return
		}
		if v := o.Cluster.View(); v.Leads {
			show(1)
		} else if v.Leader != "" {
			show(0)
		}
	}},
	{"troupe_cluster_clock_offset_seconds", "Largest difference between the clock of this node and those of the others, measured at its start.", "", func(o *Options, show show) {
		if o.Cluster != nil {
			show(o.Cluster.ClockOffset().Seconds())
		}
	}},
	{"troupe_matchmaking_waiting", "Matchmaking tickets that wait for a match, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.Waiting) })},
	{"troupe_matchmaking_matched_total", "Matchmaking tickets that are COMPLETED, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.Completed) })},
	{"troupe_matchmaking_timed_out_total", "Matchmaking tickets that found no match in time, by configuration; the oldest 100 configurations, and the others together.", "configuration", matchmaking(func(m *messages.MatchmakerState) float64 { return float64(m.TimedOut) })},
}

func newCollector(o Options) *collector {
	c := new(collector)
	for _, m := range o.Counters.Metrics() {
		c.metrics = append(c.metrics, counted(m))
	}
	for _, a := range asked {
		m := describe(a.name, a.help, a.label)
		m.collect = func(show show, _ func(*counters.Histogram, ...string)) { a.collect(&o, show) }
		c.metrics = append(c.metrics, m)
	}
	return c
}

// counted returns the exported metric for a metric of a Set.
func counted(m counters.Metric) metric {
	shown := describe(m.Name, m.Help, m.Label)
	shown.collect = func(show show, histogram func(*counters.Histogram, ...string)) {
		switch n := m.Number.(type) {
		case *atomic.Int64:
			show(float64(n.Load()))
		case *counters.Histogram:
			histogram(n)
		case *counters.Histograms:
			n.All(func(label string, h *counters.Histogram) { histogram(h, label) })
		case *counters.Pairs:
			n.All(func(a, b string, n int64) { show(float64(n), a, b) })
		case interface {
			Values(f func(label string, n int64))
		}:
			n.Values(func(label string, n int64) { show(float64(n), label) })
		case *[5000]atomic.Uint32: // the index is the number of a close reason
			for _, r := range messages.CloseReasons() {
				show(float64(n[r].Load()), r.String())
			}
		default:
			panic(fmt.Sprintf("ops: %s is of type %T, which is not shown", m.Name, n))
		}
	}
	return shown
}

// describe returns a metric without its collect function. The metric is a counter if its name ends with
// _total.
func describe(name, help, labels string) metric {
	m := metric{kind: prometheus.GaugeValue}
	if strings.HasSuffix(name, "_total") {
		m.kind = prometheus.CounterValue
	}
	m.desc = prometheus.NewDesc(name, help, slices.DeleteFunc(strings.Split(labels, ","), func(label string) bool { return label == "" }), nil)
	return m
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.metrics {
		m.collect(func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
		}, func(h *counters.Histogram, labels ...string) {
			count, sum, buckets := h.Snapshot()
			ch <- prometheus.MustNewConstHistogram(m.desc, count, sum, buckets, labels...)
		})
	}
}

// answerTimeout is how long a metric waits for an actor's response. After that, the metric is left out.
const answerTimeout = 500 * time.Millisecond

// told queries the actors and calls show with the response. If there is no response in time, it does not call
// show.
func told[A any](o *Options, q messages.RequestOf[A], show func(A)) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if answer, err := messages.Do(ctx, o.System, q); err == nil {
		show(answer)
	}
}

// configurationsMax is the maximum number of matchmaking configurations with their own label. The others
// share one label, which is not a valid name of a configuration.
const (
	configurationsMax   = 100
	otherConfigurations = "(others)"
)

// matchmaking returns the collect function of a metric with one value per matchmaking configuration.
func matchmaking(value func(*messages.MatchmakerState) float64) func(*Options, show) {
	return func(o *Options, show show) {
		told(o, messages.MatchmakerStateQuery{}, func(all []messages.MatchmakerState) {
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
		})
	}
}

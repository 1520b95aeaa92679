package ops

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors"
	"troupe/messages"
	"troupe/messages/counters"
)

// collector turns a counters.Set into Prometheus metrics when it is asked.
type collector struct {
	set    *counters.Set
	system *actors.System
	build  prometheus.Metric
	descs  map[string]*prometheus.Desc
}

// metric names, help texts and label; one row per metric.
var rows = []struct{ name, help, label string }{
	{"troupe_connections", "Open connections by transport; for udp and dtls the confirmed fast channels.", "transport"},
	{"troupe_connections_accepted_total", "Connections accepted.", "transport"},
	{"troupe_connections_refused_total", "Connections refused before a login.", "reason"},
	{"troupe_connections_held", "Accepted connections that wait because their address is over its limits.", ""},
	{"troupe_connections_closed_total", "Connections ended, by who ended them.", "by"},
	{"troupe_close_reasons_total", "Connections closed by the host.", "reason"},
	{"troupe_logins_total", "LOGIN packets answered.", "outcome"},
	{"troupe_resumes_total", "Players that came back, by the transports before and after.", "transports"},
	{"troupe_resume_seconds", "The same logins, LOGIN read to LOGIN_RESPONSE handed over.", ""},
	{"troupe_replayed_messages_total", "Messages sent once more after a resume.", ""},
	{"troupe_replayed_bytes_total", "Bytes of those.", ""},
	{"troupe_lost_messages_total", "Reliable messages that were more than may be kept for an absent player.", ""},
	{"troupe_gaps_total", "Resumes after such a loss.", ""},
	{"troupe_takeovers_total", "Connections that another of the same player replaced.", ""},
	{"troupe_dead_tokens_total", "Logins refused for their reconnect token.", ""},
	{"troupe_duplicates_total", "Numbered messages of players that had come before.", ""},
	{"troupe_players", "Players by state.", "state"},
	{"troupe_game_sessions", "Game sessions by status.", "status"},
	{"troupe_draining", "1 while the host drains; troupe_game_sessions and troupe_players are what it waits for.", ""},
	{"troupe_messages_in_total", "Application messages taken in.", "transport"},
	{"troupe_bytes_in_total", "Bytes of application messages taken in.", "transport"},
	{"troupe_messages_delivered_total", "Messages handed to a transport, one per recipient.", "transport"},
	{"troupe_bytes_out_total", "Bytes handed to the kernel.", "transport"},
	{"troupe_writes_total", "Write system calls.", "transport"},
	{"troupe_dropped_total", "Packets and messages dropped.", "reason"},
	{"troupe_records_dropped_total", "DTLS and KCP datagrams and records dropped.", "reason"},
	{"troupe_dtls_handshakes_total", "DTLS handshakes ended, or not begun.", "outcome"},
	{"troupe_dtls_associations", "Established DTLS associations.", "suite"},
	{"troupe_dtls_gcm_records_total", "Records sealed with AES-GCM, which are capped per association.", ""},
	{"troupe_identity_checks_total", "VERIFY_IDENTITY answered.", "result"},
	{"troupe_address_changes_total", "Peers followed to another UDP address, which their NAT gave them.", "transport"},
	{"troupe_fast_fallbacks_total", "Fast channels not trusted any more: served by WebSocket until they are confirmed again.", "transport"},
	{"troupe_kcp_resent_total", "KCP segments sent again.", ""},
	{"troupe_connection_panics_total", "Panics in what handles one peer's bytes; each cost that connection.", ""},
	{"troupe_actor_restarts_total", "Actors restarted by their parent.", "kind"},
	{"troupe_actors", "Actors alive.", "kind"},
	{"troupe_actor_panics_total", "Panics caught by guards.", ""},
	{"troupe_actor_unknown_messages_total", "Messages an actor did not know.", ""},
	{"troupe_handler_errors_total", "Callbacks of game logic that panicked.", ""},
	{"troupe_script_errors_total", "Errors of scripts outside of callbacks, unhandled rejections included.", ""},
	{"troupe_script_slow_calls_total", "Calls into scripts above the tick budget.", ""},
	{"troupe_script_interrupts_total", "Calls into scripts ended by the watchdog.", ""},
	{"troupe_scripts_stuck", "Calls that the watchdog could not end; each holds a thread.", ""},
	{"troupe_script_crashes_total", "Game sessions that ended by the fault of their script.", ""},
	{"troupe_script_processes", "Child processes of scripts alive.", ""},
	{"troupe_log_lines_dropped_total", "Lines of game session logs that came too fast.", ""},
	{"troupe_slow_consumers_total", "Times a player's queue passed 75 % of its budget.", ""},
	{"troupe_old_epoch_events_total", "Events of an older connection, ignored.", ""},
	{"troupe_mailbox_overflows_total", "Posts refused because a game session's mailbox was full.", ""},
	{"troupe_mailbox_depth", "Messages that wait: for the registry, for all game sessions, for the busiest one.", "mailbox"},
	{"troupe_ready_mailboxes", "Mailboxes that wait for a worker.", ""},
	{"troupe_api_requests_total", "Service API requests.", ""},
	{"troupe_api_errors_total", "Service API requests answered with an error.", ""},
	{"troupe_store_commits_total", "Commits that became durable.", ""},
	{"troupe_store_batches_total", "Transactions they came in, one sync each.", ""},
	{"troupe_store_changes_total", "Records written or deleted by them.", ""},
	{"troupe_store_refused_total", "Commits refused.", "reason"},
	{"troupe_store_commit_seconds", "Commit asked for to durable.", ""},
	{"troupe_store_damaged_records_total", "Stored records that are damaged or make no sense, which the host goes on without.", ""},
	{"troupe_store_failing", "1 while the store cannot write.", ""},
	{"troupe_events_total", "Deliveries of events to sinks: delivered, failed and tried again, or dropped.", "outcome"},
	{"troupe_events_waiting", "Events in the queues of sinks; there may be more in the store.", ""},
	{"troupe_login_seconds", "LOGIN read to LOGIN_RESPONSE handed over.", ""},
}

func newCollector(o Options) *collector {
	c := &collector{set: o.Counters, system: o.System, descs: make(map[string]*prometheus.Desc)}
	for _, r := range rows {
		var labels []string
		if r.label != "" {
			labels = []string{r.label}
		}
		c.descs[r.name] = prometheus.NewDesc(r.name, r.help, labels, nil)
	}
	c.build = prometheus.MustNewConstMetric(
		prometheus.NewDesc("troupe_build_info", "The running build.", []string{"version"}, nil), prometheus.GaugeValue, 1, o.Version)
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
	ch <- c.build.Desc()
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.set
	ch <- c.build
	vec(c, ch, "troupe_connections", prometheus.GaugeValue, &s.Connections)
	vec(c, ch, "troupe_connections_accepted_total", prometheus.CounterValue, &s.Accepted)
	vec(c, ch, "troupe_connections_refused_total", prometheus.CounterValue, &s.Refused)
	c.one(ch, "troupe_connections_held", prometheus.GaugeValue, float64(s.Held.Load()))
	vec(c, ch, "troupe_connections_closed_total", prometheus.CounterValue, &s.Closed)
	vec(c, ch, "troupe_logins_total", prometheus.CounterValue, &s.Logins)
	vec(c, ch, "troupe_resumes_total", prometheus.CounterValue, &s.Resumes)
	c.one(ch, "troupe_replayed_messages_total", prometheus.CounterValue, float64(s.Replayed.Load()))
	c.one(ch, "troupe_replayed_bytes_total", prometheus.CounterValue, float64(s.ReplayedBytes.Load()))
	c.one(ch, "troupe_lost_messages_total", prometheus.CounterValue, float64(s.Lost.Load()))
	c.one(ch, "troupe_gaps_total", prometheus.CounterValue, float64(s.Gaps.Load()))
	c.one(ch, "troupe_takeovers_total", prometheus.CounterValue, float64(s.Takeovers.Load()))
	c.one(ch, "troupe_dead_tokens_total", prometheus.CounterValue, float64(s.DeadTokens.Load()))
	c.one(ch, "troupe_duplicates_total", prometheus.CounterValue, float64(s.Duplicates.Load()))
	vec(c, ch, "troupe_players", prometheus.GaugeValue, &s.Players)
	vec(c, ch, "troupe_game_sessions", prometheus.GaugeValue, &s.GameSessions)
	c.one(ch, "troupe_draining", prometheus.GaugeValue, float64(s.Draining.Load()))
	vec(c, ch, "troupe_messages_in_total", prometheus.CounterValue, &s.MessagesIn)
	vec(c, ch, "troupe_bytes_in_total", prometheus.CounterValue, &s.BytesIn)
	vec(c, ch, "troupe_messages_delivered_total", prometheus.CounterValue, &s.Delivered)
	vec(c, ch, "troupe_bytes_out_total", prometheus.CounterValue, &s.BytesOut)
	vec(c, ch, "troupe_writes_total", prometheus.CounterValue, &s.Writes)
	vec(c, ch, "troupe_dropped_total", prometheus.CounterValue, &s.Dropped)
	vec(c, ch, "troupe_records_dropped_total", prometheus.CounterValue, &s.Records)
	vec(c, ch, "troupe_dtls_handshakes_total", prometheus.CounterValue, &s.Handshakes)
	vec(c, ch, "troupe_dtls_associations", prometheus.GaugeValue, &s.Associations)
	c.one(ch, "troupe_dtls_gcm_records_total", prometheus.CounterValue, float64(s.GCMRecords.Load()))
	vec(c, ch, "troupe_identity_checks_total", prometheus.CounterValue, &s.Identities)
	vec(c, ch, "troupe_address_changes_total", prometheus.CounterValue, &s.Moves)
	vec(c, ch, "troupe_fast_fallbacks_total", prometheus.CounterValue, &s.Fallbacks)
	c.one(ch, "troupe_kcp_resent_total", prometheus.CounterValue, float64(s.Resent.Load()))
	c.one(ch, "troupe_connection_panics_total", prometheus.CounterValue, float64(s.ConnectionPanics.Load()))
	vec(c, ch, "troupe_actor_restarts_total", prometheus.CounterValue, &s.Restarts)
	for _, r := range messages.CloseReasons() {
		c.one(ch, "troupe_close_reasons_total", prometheus.CounterValue, float64(s.CloseReasons[r].Load()), r.String())
	}
	for k := counters.ActorKind(1); k.String() != ""; k++ {
		c.one(ch, "troupe_actors", prometheus.GaugeValue, float64(c.system.Live(k)), k.String())
	}
	c.one(ch, "troupe_actor_panics_total", prometheus.CounterValue, float64(s.ActorPanics.Load()))
	c.one(ch, "troupe_actor_unknown_messages_total", prometheus.CounterValue, float64(s.ActorMessages.Load()))
	c.one(ch, "troupe_handler_errors_total", prometheus.CounterValue, float64(s.HandlerErrors.Load()))
	c.one(ch, "troupe_script_errors_total", prometheus.CounterValue, float64(s.ScriptErrors.Load()))
	c.one(ch, "troupe_script_slow_calls_total", prometheus.CounterValue, float64(s.ScriptSlowCalls.Load()))
	c.one(ch, "troupe_script_interrupts_total", prometheus.CounterValue, float64(s.ScriptInterrupts.Load()))
	c.one(ch, "troupe_scripts_stuck", prometheus.GaugeValue, float64(s.ScriptsStuck.Load()))
	c.one(ch, "troupe_script_crashes_total", prometheus.CounterValue, float64(s.ScriptCrashes.Load()))
	c.one(ch, "troupe_script_processes", prometheus.GaugeValue, float64(s.ScriptProcesses.Load()))
	c.one(ch, "troupe_log_lines_dropped_total", prometheus.CounterValue, float64(s.LogLinesDropped.Load()))
	c.one(ch, "troupe_slow_consumers_total", prometheus.CounterValue, float64(s.SlowConsumers.Load()))
	c.one(ch, "troupe_old_epoch_events_total", prometheus.CounterValue, float64(s.OldEpochs.Load()))
	c.one(ch, "troupe_mailbox_overflows_total", prometheus.CounterValue, float64(s.MailboxOverflow.Load()))
	c.depth(ch)
	c.one(ch, "troupe_ready_mailboxes", prometheus.GaugeValue, float64(c.system.Ready()))
	c.one(ch, "troupe_api_requests_total", prometheus.CounterValue, float64(s.APIRequests.Load()))
	c.one(ch, "troupe_api_errors_total", prometheus.CounterValue, float64(s.APIErrors.Load()))
	c.store(ch)
	c.one(ch, "troupe_events_total", prometheus.CounterValue, float64(s.EventsDelivered.Load()), "delivered")
	c.one(ch, "troupe_events_total", prometheus.CounterValue, float64(s.EventsFailed.Load()), "failed")
	c.one(ch, "troupe_events_total", prometheus.CounterValue, float64(s.EventsDropped.Load()), "dropped")
	c.one(ch, "troupe_events_waiting", prometheus.GaugeValue, float64(s.EventsWaiting.Load()))
	c.histogram(ch, "troupe_login_seconds", &s.LoginLatency)
	c.histogram(ch, "troupe_resume_seconds", &s.ResumeLatency)
}

func (c *collector) store(ch chan<- prometheus.Metric) {
	s := c.set
	c.one(ch, "troupe_store_commits_total", prometheus.CounterValue, float64(s.StoreCommits.Load()))
	c.one(ch, "troupe_store_batches_total", prometheus.CounterValue, float64(s.StoreBatches.Load()))
	c.one(ch, "troupe_store_changes_total", prometheus.CounterValue, float64(s.StoreChanges.Load()))
	vec(c, ch, "troupe_store_refused_total", prometheus.CounterValue, &s.StoreRefused)
	c.histogram(ch, "troupe_store_commit_seconds", &s.StoreLatency)
	c.one(ch, "troupe_store_damaged_records_total", prometheus.CounterValue, float64(s.StoreDamaged.Load()))
	c.one(ch, "troupe_store_failing", prometheus.GaugeValue, float64(s.StoreFailing.Load()))
}

// depthTimeout bounds how long a scrape waits for the registry, which answers
// within a batch unless it is in trouble; then the depth is left out.
const depthTimeout = 500 * time.Millisecond

func (c *collector) depth(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), depthTimeout)
	defer cancel()
	d, err := c.system.Depth(ctx)
	if err != nil {
		return
	}
	c.one(ch, "troupe_mailbox_depth", prometheus.GaugeValue, float64(d.Registry), "registry")
	c.one(ch, "troupe_mailbox_depth", prometheus.GaugeValue, float64(d.GameSessions), "game_sessions")
	c.one(ch, "troupe_mailbox_depth", prometheus.GaugeValue, float64(d.Busiest), "busiest_game_session")
}

func (c *collector) histogram(ch chan<- prometheus.Metric, name string, h *counters.Histogram) {
	count, sum, buckets := h.Snapshot()
	ch <- prometheus.MustNewConstHistogram(c.descs[name], count, sum, buckets)
}

func (c *collector) one(ch chan<- prometheus.Metric, name string, kind prometheus.ValueType, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(c.descs[name], kind, v, labels...)
}

func vec[L counters.Label](c *collector, ch chan<- prometheus.Metric, name string, kind prometheus.ValueType, v *counters.Vec[L]) {
	v.Each(func(l L, n int64) { c.one(ch, name, kind, float64(n), l.String()) })
}

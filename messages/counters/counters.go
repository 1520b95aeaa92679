package counters

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Label is a small enumeration whose values start at 1. Each value has a name.
type Label interface {
	~uint8
	String() string
}

// Vec holds one number per value of a label. The zero value is ready to use.
type Vec[L Label] struct{ cells [64]atomic.Int64 }

// Add adds n, which may be negative for a gauge. A label value above 63 is counted in cell 0.
func (v *Vec[L]) Add(l L, n int64) {
	i := int(l)
	if i >= len(v.cells) {
		i = 0
	}
	v.cells[i].Add(n)
}

// Move subtracts 1 from the count of label *was, adds 1 to the count of label now, and sets *was to now. Label 0 is not
// counted.
func (v *Vec[L]) Move(was *L, now L) {
	if *was == now {
		return
	}
	if *was != 0 {
		v.Add(*was, -1)
	}
	if now != 0 {
		v.Add(now, 1)
	}
	*was = now
}

// Get returns the number of one label value.
func (v *Vec[L]) Get(l L) int64 {
	if int(l) >= len(v.cells) {
		return 0
	}
	return v.cells[l].Load()
}

// Total returns the sum over all label values.
func (v *Vec[L]) Total() (sum int64) {
	for i := range v.cells {
		sum += v.cells[i].Load()
	}
	return sum
}

// Values calls f for every label value that has a name, in the order of the values. It passes the name and the number.
func (v *Vec[L]) Values(f func(label string, n int64)) {
	for i := 1; i < len(v.cells); i++ {
		if label := L(i).String(); label != "" {
			f(label, v.cells[i].Load())
		}
	}
}

// Set contains all metrics of one host. The zero value is ready to use. A Set must not be copied.
//
// The tags of a field declare its metric: the name, the help text and, for a Vec, the name of the label. For Pairs, the
// label tag contains both names, separated by a comma. A metric whose name ends with _total is a counter, which only
// grows. A name that ends with _seconds declares a Histogram or Histograms. All other metrics are gauges.
type Set struct {
	Connections      Vec[Channel]          `metric:"troupe_connections" label:"transport" help:"Open connections by transport; for udp and dtls, confirmed fast channels."`
	Accepted         Vec[Channel]          `metric:"troupe_connections_accepted_total" label:"transport" help:"Connections accepted, by transport."`
	Refused          Vec[Refusal]          `metric:"troupe_connections_refused_total" label:"reason" help:"Connections refused before a login, by reason."`
	Held             atomic.Int64          `metric:"troupe_connections_held" help:"Accepted connections that wait because their address is over its limits."`
	Closed           Vec[CloseClass]       `metric:"troupe_connections_closed_total" label:"by" help:"Connections that ended: closed by the host, closed by the client as a leave, or lost."`
	Logins           Vec[LoginOutcome]     `metric:"troupe_logins_total" label:"outcome" help:"LOGIN packets answered, by outcome."`
	LoginsRefused    Vec[LoginRefusal]     `metric:"troupe_logins_refused_total" label:"reason" help:"LOGIN packets refused, by reason; other: mostly an unknown player session id."`
	RoundTrip        Histogram             `metric:"troupe_round_trip_seconds" help:"Round trips to players, of TCP and KCP: one per connection every 15 s, at its next ping."`
	LoginLatency     Histogram             `metric:"troupe_login_seconds" help:"Time from reading a LOGIN to handing over its LOGIN_RESPONSE, of logins that succeed."`
	Resumes          Vec[ChannelPair]      `metric:"troupe_resumes_total" label:"transports" help:"Resumed player sessions, by the transports before and after."`
	ResumeLatency    Histogram             `metric:"troupe_resume_seconds" help:"Time from reading a LOGIN to handing over its LOGIN_RESPONSE, of logins that resume a player session."`
	Replayed         atomic.Int64          `metric:"troupe_replayed_messages_total" help:"Messages sent again after a resume."`
	ReplayedBytes    atomic.Int64          `metric:"troupe_replayed_bytes_total" help:"Bytes of the messages sent again after a resume."`
	Lost             atomic.Int64          `metric:"troupe_lost_messages_total" help:"Reliable messages dropped because an outbox was full, counted when the player resumes."`
	Gaps             atomic.Int64          `metric:"troupe_gaps_total" help:"Resumes for which reliable messages are missing, dropped because the outbox was full."`
	Takeovers        atomic.Int64          `metric:"troupe_takeovers_total" help:"Connections replaced by a newer connection of the same player."`
	DeadTokens       atomic.Int64          `metric:"troupe_dead_tokens_total" help:"Logins refused because their reconnect token is no longer valid."`
	Duplicates       atomic.Int64          `metric:"troupe_duplicates_total" help:"Numbered messages from players that had already been received, and were dropped."`
	Players          Vec[PlayerState]      `metric:"troupe_players" label:"state" help:"Players by state."`
	GameSessions     Vec[GameSessionState] `metric:"troupe_game_sessions" label:"status" help:"Game sessions by status."`
	MessagesIn       Vec[Channel]          `metric:"troupe_messages_in_total" label:"transport" help:"Application messages received."`
	BytesIn          Vec[Channel]          `metric:"troupe_bytes_in_total" label:"transport" help:"Bytes of application messages received."`
	Delivered        Vec[Channel]          `metric:"troupe_messages_delivered_total" label:"transport" help:"Messages handed to a transport, counted once per recipient."`
	BytesOut         Vec[Channel]          `metric:"troupe_bytes_out_total" label:"transport" help:"Bytes handed to the kernel for sending."`
	Writes           Vec[Channel]          `metric:"troupe_writes_total" label:"transport" help:"Write system calls."`
	Dropped          Vec[Drop]             `metric:"troupe_dropped_total" label:"reason" help:"Packets and messages dropped, by reason."`
	CloseReasons     [5000]atomic.Uint32   `metric:"troupe_close_reasons_total" label:"reason" help:"Connections closed by the host, by reason."`
	Records          Vec[RecordDrop]       `metric:"troupe_records_dropped_total" label:"reason" help:"DTLS records, KCP segments and datagrams dropped, by reason."`
	Handshakes       Vec[HandshakeOutcome] `metric:"troupe_dtls_handshakes_total" label:"outcome" help:"DTLS handshakes that ended or were refused, by outcome."`
	Associations     Vec[Suite]            `metric:"troupe_dtls_associations" label:"suite" help:"Established DTLS associations."`
	GCMRecords       atomic.Int64          `metric:"troupe_dtls_gcm_records_total" help:"Records sealed with AES-GCM, which are limited per association."`
	Identities       Vec[IdentityCheck]    `metric:"troupe_identity_checks_total" label:"result" help:"Identity checks of secured fast channels, by result; late: no VERIFY_IDENTITY came in time."`
	Moves            Vec[Channel]          `metric:"troupe_address_changes_total" label:"transport" help:"UDP address changes of peers, as after NAT rebinding, that the host followed."`
	Fallbacks        Vec[Channel]          `metric:"troupe_fast_fallbacks_total" label:"transport" help:"Fast channels that lost their confirmation; their messages use the reliable channel until they are confirmed again."`
	Resent           atomic.Int64          `metric:"troupe_kcp_resent_total" help:"KCP segments retransmitted."`
	ConnectionPanics atomic.Int64          `metric:"troupe_connection_panics_total" help:"Panics while handling the input of a peer; each closed that connection."`
	HandlerErrors    atomic.Int64          `metric:"troupe_handler_errors_total" help:"Callbacks of game logic that panicked or threw an error."`
	ScriptErrors     atomic.Int64          `metric:"troupe_script_errors_total" help:"Script errors outside of callbacks, such as in timers and unhandled rejections."`
	ScriptSlowCalls  atomic.Int64          `metric:"troupe_script_slow_calls_total" help:"Calls into scripts that took longer than the tick budget."`
	ScriptInterrupts atomic.Int64          `metric:"troupe_script_interrupts_total" help:"Calls into scripts interrupted by the watchdog."`
	ScriptsStuck     atomic.Int64          `metric:"troupe_scripts_stuck" help:"Script calls that the watchdog could not interrupt; each holds a thread."`
	ScriptStuckAgain atomic.Int64          `metric:"troupe_scripts_stuck_again_total" help:"Script calls that the watchdog could not interrupt, less than an hour after another such call."`
	ScriptCrashes    atomic.Int64          `metric:"troupe_script_crashes_total" help:"Game sessions ended because their script crashed."`
	ScriptProcesses  atomic.Int64          `metric:"troupe_script_processes" help:"Running child processes of scripts."`
	LogLinesDropped  atomic.Int64          `metric:"troupe_log_lines_dropped_total" help:"Lines of game session logs dropped because they came too fast or could not be written."`
	SlowConsumers    atomic.Int64          `metric:"troupe_slow_consumers_total" help:"Times a player's outbox exceeded 75 % of its budget."`
	OldEpochs        atomic.Int64          `metric:"troupe_old_epoch_events_total" help:"Events and packets ignored because they belong to an older connection of the player."`
	Restarts         Vec[ActorKind]        `metric:"troupe_actor_restarts_total" label:"kind" help:"Actors restarted by their parent."`
	ActorPanics      atomic.Int64          `metric:"troupe_actor_panics_total" help:"Actor panics, each caught by the guard of its actor."`
	ActorMessages    atomic.Int64          `metric:"troupe_actor_unknown_messages_total" help:"Messages of a type that the receiving actor does not handle."`
	APIRequests      atomic.Int64          `metric:"troupe_api_requests_total" help:"Service API requests."`
	APIErrors        atomic.Int64          `metric:"troupe_api_errors_total" help:"Service API requests answered with an error."`
	APILatency       Histograms            `metric:"troupe_api_operation_seconds" label:"operation" help:"Time to answer service API requests, by operation; none: the request names no operation of the API."`
	APIFailures      Pairs                 `metric:"troupe_api_operation_errors_total" label:"operation,type" help:"Service API requests answered with an error, by operation and type of the error."`
	ServersClosed    Vec[ServerClose]      `metric:"troupe_server_connections_closed_total" label:"reason" help:"Connections of processes that speak the Server SDK which the host closed because of what came on them, by reason."`
	MailboxOverflow  atomic.Int64          `metric:"troupe_mailbox_overflows_total" help:"Messages refused because a game session's mailbox was full."`

	StoreCommits      atomic.Int64      `metric:"troupe_store_commits_total" help:"Commits made durable."`
	StoreBatches      atomic.Int64      `metric:"troupe_store_batches_total" help:"Store transactions; each makes one or more commits durable with one sync."`
	StoreChanges      atomic.Int64      `metric:"troupe_store_changes_total" help:"Records written or deleted by durable commits."`
	StoreRefused      Vec[StoreRefusal] `metric:"troupe_store_refused_total" label:"reason" help:"Commits refused by the store, by reason."`
	StoreLatency      Histogram         `metric:"troupe_store_commit_seconds" help:"Time from requesting a commit until it is durable."`
	StoreFailing      atomic.Int64      `metric:"troupe_store_failing" help:"1 while the store cannot write, else 0."`
	StoreDamaged      atomic.Int64      `metric:"troupe_store_damaged_records_total" help:"Stored records that the host ignores because they are damaged or invalid."`
	PlacementsWaiting atomic.Int64      `metric:"troupe_placements_waiting" help:"Placements that are PENDING."`
	Placements        Vec[PlacementEnd] `metric:"troupe_placements_total" label:"outcome" help:"Placements that ended, by outcome."`
	PlacementLatency  Histogram         `metric:"troupe_placement_seconds" help:"Time from the start of a placement to its end, of placements that are FULFILLED."`
	PlacementsNowhere atomic.Int64      `metric:"troupe_placements_without_destination_total" help:"Placements that ended because their queue was deleted or none of its destinations can take them."`
	MatchmakingPass   Histogram         `metric:"troupe_matchmaking_pass_seconds" help:"Computing time of a search for matches over all waiting tickets of one matchmaking configuration."`
	Draining          atomic.Int64      `metric:"troupe_draining" help:"1 while the host drains, else 0; it waits for troupe_game_sessions and troupe_players."`
	Events            Vec[EventOutcome] `metric:"troupe_events_total" label:"outcome" help:"Attempts to deliver an event to a sink, by outcome; failed attempts are repeated."`
	EventsWaiting     atomic.Int64      `metric:"troupe_events_waiting" help:"Events queued for delivery to sinks; more may wait in the store."`

	Servers              Vec[ServerState]   `metric:"troupe_server_processes" label:"state" help:"Processes that speak the Server SDK and have not ended, by state, with and without a connection."`
	ServersLaunched      atomic.Int64       `metric:"troupe_server_processes_launched" help:"Game servers that this host has started and that run."`
	ServersEnded         Vec[ServerEnd]     `metric:"troupe_server_processes_ended_total" label:"how" help:"Processes that speak the Server SDK and have ended, by how; dropped: what it was for is over; not_activated: it had no connection any more."`
	ServerRefused        Vec[ServerRefusal] `metric:"troupe_server_handshakes_refused_total" label:"reason" help:"Handshakes of processes that speak the Server SDK which were refused, by reason."`
	ServerPushesRepeated atomic.Int64       `metric:"troupe_server_pushes_repeated_total" help:"Results of backfills that are sent to a process again, because its connection ended before it had confirmed them."`

	PeerCalls    Pairs            `metric:"troupe_cluster_peer_calls_total" label:"method,outcome" help:"Calls to other nodes of the cluster, by request and outcome; error: the node refused the request."`
	PeerLatency  Histogram        `metric:"troupe_cluster_peer_seconds" help:"Time to call another node of the cluster, whatever the outcome."`
	EtcdLatency  Histograms       `metric:"troupe_cluster_etcd_seconds" label:"op" help:"Time of a request to etcd, by operation, whatever the outcome; renew: the lease of the node."`
	EtcdUnknown  atomic.Int64     `metric:"troupe_cluster_etcd_unknown_total" help:"Changes that etcd did not answer in time, so they may have happened or not; they are read back or repeated."`
	EtcdFull     atomic.Int64     `metric:"troupe_cluster_etcd_alarm" help:"1 from when etcd refuses a change because its database is full, until it accepts one, else 0."`
	LeasesLost   atomic.Int64     `metric:"troupe_cluster_lease_lost_total" help:"Leases of this node that ended before it stopped; it registers again."`
	Reaped       atomic.Int64     `metric:"troupe_cluster_reaped_total" help:"Game sessions of lost nodes that this node, as the leader, has ended."`
	Returned     atomic.Int64     `metric:"troupe_cluster_returned_total" help:"Game sessions that this node kept when it registered again."`
	PartialFinds atomic.Int64     `metric:"troupe_cluster_partial_searches_total" help:"Searches answered without the game sessions of a node that did not answer in time."`
	DirReads     Vec[CacheUse]    `metric:"troupe_cluster_directory_reads_total" label:"hit" help:"Look-ups of the node that runs a game session, by whether this node knew it."`
	Fenced       Vec[Fence]       `metric:"troupe_cluster_fenced_total" label:"by" help:"Writes that etcd refused because the writer no longer was what it took itself for: leader (term), registered node (incarnation)."`
	PeersRefused Vec[PeerRefusal] `metric:"troupe_cluster_peers_refused_total" label:"reason" help:"Connections and calls of other nodes that this node refused, by reason."`
}

// CountClose counts one connection that the host closed. code is the number of the close reason.
func (s *Set) CountClose(code uint16) {
	if int(code) < len(s.CloseReasons) {
		s.CloseReasons[code].Add(1)
	}
}

// CountCall counts an answered request to the service API. A request without an operation is counted as "none". kind is
// the type of the error, or empty on success.
func (s *Set) CountCall(operation string, took time.Duration, kind string) {
	operation = cmp.Or(operation, "none")
	s.APILatency.Observe(operation, took)
	if kind != "" {
		s.APIFailures.Add(operation, kind, 1)
	}
}

package counters

import "sync/atomic"

// Label is a small enumeration that starts at one, with a name per value.
type Label interface {
	~uint8
	String() string
}

// Vec is one number per value of a label. The zero value is ready.
type Vec[L Label] struct{ cells [64]atomic.Int64 }

// Add adds n, which may be negative for a gauge. A value over 63 counts in cell 0.
func (v *Vec[L]) Add(l L, n int64) {
	i := int(l)
	if i >= len(v.cells) {
		i = 0
	}
	v.cells[i].Add(n)
}

// Get returns the number of one label.
func (v *Vec[L]) Get(l L) int64 {
	if int(l) >= len(v.cells) {
		return 0
	}
	return v.cells[l].Load()
}

// Total returns the sum over all labels.
func (v *Vec[L]) Total() (sum int64) {
	for i := range v.cells {
		sum += v.cells[i].Load()
	}
	return sum
}

// Values calls f for every label value that has a name, by that name, in order.
func (v *Vec[L]) Values(f func(label string, n int64)) {
	for i := 1; i < len(v.cells); i++ {
		if label := L(i).String(); label != "" {
			f(label, v.cells[i].Load())
		}
	}
}

// Set is all metrics of one host. The zero value is ready; a Set must not be copied.
//
// The tags of a field declare its metric: the name, the help text, and for a Vec the name of
// the label. A name that ends with _total declares a counter, which only grows; any other a
// gauge or, with _seconds, a Histogram.
type Set struct {
	Connections      Vec[Channel]          `metric:"troupe_connections" label:"transport" help:"Open connections by transport; for udp and dtls the confirmed fast channels."`
	Accepted         Vec[Channel]          `metric:"troupe_connections_accepted_total" label:"transport" help:"Connections accepted."`
	Refused          Vec[Refusal]          `metric:"troupe_connections_refused_total" label:"reason" help:"Connections refused before a login."`
	Held             atomic.Int64          `metric:"troupe_connections_held" help:"Accepted connections that wait because their address is over its limits."`
	Closed           Vec[CloseClass]       `metric:"troupe_connections_closed_total" label:"by" help:"Connections ended, by who ended them."`
	Logins           Vec[LoginOutcome]     `metric:"troupe_logins_total" label:"outcome" help:"LOGIN packets answered."`
	LoginLatency     Histogram             `metric:"troupe_login_seconds" help:"LOGIN read to LOGIN_RESPONSE handed over."`
	Resumes          Vec[ChannelPair]      `metric:"troupe_resumes_total" label:"transports" help:"Players that came back, by the transports before and after."`
	ResumeLatency    Histogram             `metric:"troupe_resume_seconds" help:"The same logins, LOGIN read to LOGIN_RESPONSE handed over."`
	Replayed         atomic.Int64          `metric:"troupe_replayed_messages_total" help:"Messages sent once more after a resume."`
	ReplayedBytes    atomic.Int64          `metric:"troupe_replayed_bytes_total" help:"Bytes of those."`
	Lost             atomic.Int64          `metric:"troupe_lost_messages_total" help:"Reliable messages that were more than may be kept for an absent player."`
	Gaps             atomic.Int64          `metric:"troupe_gaps_total" help:"Resumes after such a loss."`
	Takeovers        atomic.Int64          `metric:"troupe_takeovers_total" help:"Connections that another of the same player replaced."`
	DeadTokens       atomic.Int64          `metric:"troupe_dead_tokens_total" help:"Logins refused for their reconnect token."`
	Duplicates       atomic.Int64          `metric:"troupe_duplicates_total" help:"Numbered messages of players that had come before."`
	Players          Vec[PlayerState]      `metric:"troupe_players" label:"state" help:"Players by state."`
	GameSessions     Vec[GameSessionState] `metric:"troupe_game_sessions" label:"status" help:"Game sessions by status."`
	MessagesIn       Vec[Channel]          `metric:"troupe_messages_in_total" label:"transport" help:"Application messages taken in."`
	BytesIn          Vec[Channel]          `metric:"troupe_bytes_in_total" label:"transport" help:"Bytes of application messages taken in."`
	Delivered        Vec[Channel]          `metric:"troupe_messages_delivered_total" label:"transport" help:"Messages handed to a transport, one per recipient."`
	BytesOut         Vec[Channel]          `metric:"troupe_bytes_out_total" label:"transport" help:"Bytes handed to the kernel."`
	Writes           Vec[Channel]          `metric:"troupe_writes_total" label:"transport" help:"Write system calls."`
	Dropped          Vec[Drop]             `metric:"troupe_dropped_total" label:"reason" help:"Packets and messages dropped."`
	CloseReasons     [5000]atomic.Uint32   `metric:"troupe_close_reasons_total" label:"reason" help:"Connections closed by the host."`
	Records          Vec[RecordDrop]       `metric:"troupe_records_dropped_total" label:"reason" help:"DTLS and KCP datagrams and records dropped."`
	Handshakes       Vec[HandshakeOutcome] `metric:"troupe_dtls_handshakes_total" label:"outcome" help:"DTLS handshakes ended, or not begun."`
	Associations     Vec[Suite]            `metric:"troupe_dtls_associations" label:"suite" help:"Established DTLS associations."`
	GCMRecords       atomic.Int64          `metric:"troupe_dtls_gcm_records_total" help:"Records sealed with AES-GCM, which are capped per association."`
	Identities       Vec[IdentityCheck]    `metric:"troupe_identity_checks_total" label:"result" help:"VERIFY_IDENTITY answered."`
	Moves            Vec[Channel]          `metric:"troupe_address_changes_total" label:"transport" help:"Peers followed to another UDP address, which their NAT gave them."`
	Fallbacks        Vec[Channel]          `metric:"troupe_fast_fallbacks_total" label:"transport" help:"Fast channels not trusted any more: served by WebSocket until they are confirmed again."`
	Resent           atomic.Int64          `metric:"troupe_kcp_resent_total" help:"KCP segments sent again."`
	ConnectionPanics atomic.Int64          `metric:"troupe_connection_panics_total" help:"Panics in what handles one peer's bytes; each cost that connection."`
	HandlerErrors    atomic.Int64          `metric:"troupe_handler_errors_total" help:"Callbacks of game logic that panicked."`
	ScriptErrors     atomic.Int64          `metric:"troupe_script_errors_total" help:"Errors of scripts outside of callbacks, unhandled rejections included."`
	ScriptSlowCalls  atomic.Int64          `metric:"troupe_script_slow_calls_total" help:"Calls into scripts above the tick budget."`
	ScriptInterrupts atomic.Int64          `metric:"troupe_script_interrupts_total" help:"Calls into scripts ended by the watchdog."`
	ScriptsStuck     atomic.Int64          `metric:"troupe_scripts_stuck" help:"Calls that the watchdog could not end; each holds a thread."`
	ScriptStuckAgain atomic.Int64          `metric:"troupe_scripts_stuck_again_total" help:"Calls that the watchdog could not end within an hour after another."`
	ScriptCrashes    atomic.Int64          `metric:"troupe_script_crashes_total" help:"Game sessions that ended by the fault of their script."`
	ScriptProcesses  atomic.Int64          `metric:"troupe_script_processes" help:"Child processes of scripts alive."`
	LogLinesDropped  atomic.Int64          `metric:"troupe_log_lines_dropped_total" help:"Lines of game session logs that came too fast."`
	SlowConsumers    atomic.Int64          `metric:"troupe_slow_consumers_total" help:"Times a player's queue passed 75 % of its budget."`
	OldEpochs        atomic.Int64          `metric:"troupe_old_epoch_events_total" help:"Events of an older connection, ignored."`
	Restarts         Vec[ActorKind]        `metric:"troupe_actor_restarts_total" label:"kind" help:"Actors restarted by their parent."`
	ActorPanics      atomic.Int64          `metric:"troupe_actor_panics_total" help:"Panics caught by guards."`
	ActorMessages    atomic.Int64          `metric:"troupe_actor_unknown_messages_total" help:"Messages an actor did not know."`
	APIRequests      atomic.Int64          `metric:"troupe_api_requests_total" help:"Service API requests."`
	APIErrors        atomic.Int64          `metric:"troupe_api_errors_total" help:"Service API requests answered with an error."`
	MailboxOverflow  atomic.Int64          `metric:"troupe_mailbox_overflows_total" help:"Posts refused because a game session's mailbox was full."`

	StoreCommits      atomic.Int64      `metric:"troupe_store_commits_total" help:"Commits that became durable."`
	StoreBatches      atomic.Int64      `metric:"troupe_store_batches_total" help:"Transactions they came in, one sync each."`
	StoreChanges      atomic.Int64      `metric:"troupe_store_changes_total" help:"Records written or deleted by them."`
	StoreRefused      Vec[StoreRefusal] `metric:"troupe_store_refused_total" label:"reason" help:"Commits refused."`
	StoreLatency      Histogram         `metric:"troupe_store_commit_seconds" help:"Commit asked for to durable."`
	StoreFailing      atomic.Int64      `metric:"troupe_store_failing" help:"1 while the store cannot write."`
	StoreDamaged      atomic.Int64      `metric:"troupe_store_damaged_records_total" help:"Stored records that are damaged or make no sense, which the host goes on without."`
	PlacementsNowhere atomic.Int64      `metric:"troupe_placements_without_destination_total" help:"Placements that ended because their queue is gone, or no destination of it takes any."`
	Draining          atomic.Int64      `metric:"troupe_draining" help:"1 while the host drains; troupe_game_sessions and troupe_players are what it waits for."`
	Events            Vec[EventOutcome] `metric:"troupe_events_total" label:"outcome" help:"Deliveries of events to sinks: delivered, failed and tried again, or dropped."`
	EventsWaiting     atomic.Int64      `metric:"troupe_events_waiting" help:"Events in the queues of sinks; there may be more in the store."`
}

// CountClose counts one connection closed by the host with a reason number.
func (s *Set) CountClose(code uint16) {
	if int(code) < len(s.CloseReasons) {
		s.CloseReasons[code].Add(1)
	}
}

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

// Each calls f for every label value that has a name, in order.
func (v *Vec[L]) Each(f func(l L, n int64)) {
	for i := 1; i < len(v.cells); i++ {
		if l := L(i); l.String() != "" {
			f(l, v.cells[i].Load())
		}
	}
}

// Set is everything one host counts. The zero value is ready; a Set must not
// be copied.
type Set struct {
	Connections      Vec[Channel]          // gauge: open connections and bound fast associations
	Accepted         Vec[Channel]          // connections accepted since the start
	Refused          Vec[Refusal]          // connections refused before a login
	Held             atomic.Int64          // gauge: accepted connections that wait for a place
	Closed           Vec[CloseClass]       // connections ended, by who ended them
	Logins           Vec[LoginOutcome]     // LOGIN packets answered
	LoginLatency     Histogram             // LOGIN read to LOGIN_RESPONSE handed over, seconds
	Resumes          Vec[ChannelPair]      // players that came back, by transports: before and now
	ResumeLatency    Histogram             // of theirs, LOGIN read to LOGIN_RESPONSE handed over, seconds
	Replayed         atomic.Int64          // messages given to a second connection
	ReplayedBytes    atomic.Int64          // their bytes
	Lost             atomic.Int64          // reliable messages that the budget of an absent player could not keep
	Gaps             atomic.Int64          // resumes after such a loss
	Takeovers        atomic.Int64          // connections that another of the same player replaced
	DeadTokens       atomic.Int64          // logins refused for their reconnect token
	Duplicates       atomic.Int64          // numbered messages of players that had come before
	Players          Vec[PlayerState]      // gauge: players by state
	GameSessions     Vec[GameSessionState] // gauge: game sessions that have not ended
	MessagesIn       Vec[Channel]          // application messages taken in
	BytesIn          Vec[Channel]          // their bytes, unit included
	Delivered        Vec[Channel]          // application messages handed to a transport, one per recipient
	BytesOut         Vec[Channel]          // bytes handed to the kernel, frame headers included
	Writes           Vec[Channel]          // write system calls
	Dropped          Vec[Drop]             // packets and messages dropped, by reason
	CloseReasons     [5000]atomic.Uint32   // connections the host closed, by reason number
	Records          Vec[RecordDrop]       // datagrams and records dropped by DTLS and KCP
	Handshakes       Vec[HandshakeOutcome] // DTLS handshakes ended, or not begun
	Associations     Vec[Suite]            // gauge: established DTLS associations
	GCMRecords       atomic.Int64          // records sealed with AES-GCM, which are capped per association
	Identities       Vec[IdentityCheck]    // VERIFY_IDENTITY answered
	Moves            Vec[Channel]          // peers followed to another UDP address
	Fallbacks        Vec[Channel]          // fast channels no longer trusted: served by WebSocket until confirmed again
	Resent           atomic.Int64          // KCP segments sent again
	ConnectionPanics atomic.Int64          // panics in what handles one peer's bytes; each cost that connection
	HandlerErrors    atomic.Int64          // script callbacks that panicked
	ScriptErrors     atomic.Int64          // errors of scripts outside of callbacks, unhandled rejections included
	ScriptSlowCalls  atomic.Int64          // calls into scripts above the tick budget
	ScriptInterrupts atomic.Int64          // calls into scripts ended by the watchdog
	ScriptsStuck     atomic.Int64          // of them, those that went on all the same: each holds a thread
	ScriptCrashes    atomic.Int64          // game sessions that ended by the fault of their script
	ScriptProcesses  atomic.Int64          // child processes alive
	LogLinesDropped  atomic.Int64          // lines of game session logs that came too fast
	SlowConsumers    atomic.Int64          // times an outbox passed 75 % of its budget
	OldEpochs        atomic.Int64          // events of an older epoch, ignored (R8)
	Restarts         Vec[ActorKind]        // actors restarted by their parent
	ActorPanics      atomic.Int64
	ActorMessages    atomic.Int64 // messages that an actor did not know
	APIRequests      atomic.Int64
	APIErrors        atomic.Int64
	MailboxOverflow  atomic.Int64 // posts refused because a data lane was full

	StoreCommits    atomic.Int64      // commits that became durable
	StoreBatches    atomic.Int64      // transactions they came in, one sync each
	StoreChanges    atomic.Int64      // records written or deleted by them
	StoreRefused    Vec[StoreRefusal] // commits refused
	StoreLatency    Histogram         // commit asked for to durable, seconds
	StoreFailing    atomic.Int64      // gauge: 1 while the store cannot write
	StoreDamaged    atomic.Int64      // stored records that the host goes on without
	Draining        atomic.Int64      // gauge: 1 while the host drains
	EventsDelivered atomic.Int64      // events that a sink took
	EventsFailed    atomic.Int64      // attempts that failed and are made again
	EventsDropped   atomic.Int64      // events that a sink refused, or that were tried for too long
	EventsWaiting   atomic.Int64      // gauge: events in the queues of sinks
}

// CountClose counts one connection closed by the host with a reason number.
func (s *Set) CountClose(code uint16) {
	if int(code) < len(s.CloseReasons) {
		s.CloseReasons[code].Add(1)
	}
}

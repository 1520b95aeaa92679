package matchmaker

import (
	"cmp"
	"runtime"
	"time"

	"troupe/actors/store"
	"troupe/messages"
)

// Options configure matchmaking. Values are set once.
type Options struct {
	// Region and Account (12 digits; empty: zeros) are parts of ARNs.
	Region, Account string
	// RuleSets and Matchmakers exist from the start, unless the store has one of the same name. The bodies are valid.
	RuleSets    []*messages.RuleSet
	Matchmakers []*messages.Matchmaker
	// Store keeps all records; required. The caller closes it.
	Store store.Store
	// OnEvent receives each event once it is durable. It is called from any goroutine and must not block. Nil drops the events.
	OnEvent func(messages.Event)
	// Interval is the time between two passes over a pool, 50 ms to 10 s; 0: 1 s.
	Interval time.Duration
	// Workers bounds the passes that run at the same time; 0: half the CPUs that Go may use, at least 1.
	Workers int
	// ActiveMax bounds the tickets that have not ended; 0: 100,000.
	ActiveMax int
	// EndedMax bounds the ended tickets that are kept (D-318); 0: 100,000.
	EndedMax int

	// for tests
	passBudget int    // of match.Options
	work       func() // called at each point where a pass may rest
}

func (o Options) withDefaults() Options {
	o.Account = cmp.Or(o.Account, "000000000000")
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.Workers = cmp.Or(o.Workers, max(1, runtime.GOMAXPROCS(0)/2))
	o.ActiveMax = cmp.Or(o.ActiveMax, 100_000)
	o.EndedMax = cmp.Or(o.EndedMax, 100_000)
	if o.OnEvent == nil {
		o.OnEvent = func(messages.Event) {}
	}
	return o
}

const (
	// passTicketsMax bounds the tickets that one transaction makes SEARCHING.
	passTicketsMax = 64
	// ruleSetsMax and matchmakersMax bound rule sets and configurations.
	ruleSetsMax, matchmakersMax = 1000, 1000
	// endedKeep is how long ended tickets are kept (D-318).
	endedKeep = 3 * time.Hour
	// bytesMax bounds the records of all tickets together; the tickets that ended first are forgotten first.
	bytesMax = 256 << 20
	// retryAfter is the pause before a retry of what the store or the Placer refused.
	retryAfter = time.Second
)

// Messages to the Supervisor, besides the requests of package messages.
type (
	// Drain stops passes, placements and new tickets. Tickets continue after the next start of the host, if its store is durable.
	Drain struct{}
	// CancelDrain ends a Drain.
	CancelDrain struct{}
)

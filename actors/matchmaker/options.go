package matchmaker

import (
	"cmp"
	"runtime"
	"time"

	"troupe/actors/store"
	"troupe/messages"
)

// Options configure matchmaking.
type Options struct {
	// Region and Account are parts of ARNs. Account has 12 digits; "" means zeros.
	Region, Account string
	// RuleSets and Matchmakers exist from the start. If the store has a record of the same name, that one is
	// used. The bodies must be valid.
	RuleSets    []*messages.RuleSet
	Matchmakers []*messages.Matchmaker
	// Store stores all records. It is required. The caller closes it.
	Store store.Store
	// OnEvent receives each event once it is durable. It is called on any goroutine and must not block. nil
	// drops the events.
	OnEvent func(messages.Event)
	// Interval is the time between two passes over a pool, 50 ms to 10 s. 0 means 1 s.
	Interval time.Duration
	// Workers is the maximum number of passes that run at the same time. 0 means half of GOMAXPROCS, but at
	// least 1.
	Workers int
	// ActiveMax is the maximum number of tickets that have not ended. 0 means 100,000.
	ActiveMax int
	// EndedMax is the maximum number of ended tickets that are kept (D-318). 0 means 100,000.
	EndedMax int

	// for tests
	passBudget int    // match.Options.Budget
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
	// passTicketsMax is the maximum number of tickets that one transaction makes SEARCHING.
	passTicketsMax = 64
	// ruleSetsMax and matchmakersMax are the maximum numbers of rule sets and configurations.
	ruleSetsMax, matchmakersMax = 1000, 1000
	// endedKeep is how long ended tickets are kept (D-318).
	endedKeep = 3 * time.Hour
	// bytesMax is the maximum total size of all ticket records. If it is exceeded, the tickets that ended
	// first are removed.
	bytesMax = 256 << 20
	// retryAfter is the pause before a retry after the store or the Placer has returned an error.
	retryAfter = time.Second
)

// Messages to the Supervisor, in addition to the requests of package messages.
type (
	// Drain stops passes, placements and new tickets. If the store is durable, tickets continue after the
	// next start of the host.
	Drain struct{}
	// CancelDrain ends a Drain.
	CancelDrain struct{}
)

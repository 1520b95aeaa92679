package placement

import (
	"cmp"
	"time"

	"troupe/actors/store"
	"troupe/messages"
)

// Options configure queues and placements. Values are set once.
type Options struct {
	// Region and Account (12 digits; empty: zeros) are parts of the ARNs of queues.
	Region, Account string
	// Queues exist from the start, unless the store has a queue of the same name.
	Queues []*messages.Queue
	// Store keeps queues and placements; required. The caller closes it.
	Store store.Store
	// OnEvent receives the event of each end once it is durable, on any goroutine. It must not block. Nil drops the events.
	OnEvent func(messages.Event)
	// QueuesMax bounds the queues; 0: 1000.
	QueuesMax int
	// PendingMax bounds the placements that are PENDING; 0: 20,000.
	PendingMax int
	// EndedMax and EndedKeep bound the ended placements that are kept (service-api.md 2.9); 0: 100,000, and 30 days.
	EndedMax  int
	EndedKeep time.Duration
	// BytesMax bounds the records of all placements together; the placements that ended first are forgotten first. 0: 256 MiB.
	BytesMax int
}

func (o Options) withDefaults() Options {
	o.Account = cmp.Or(o.Account, "000000000000")
	o.QueuesMax = cmp.Or(o.QueuesMax, 1000)
	o.PendingMax = cmp.Or(o.PendingMax, 20_000)
	o.EndedMax = cmp.Or(o.EndedMax, 100_000)
	o.EndedKeep = cmp.Or(o.EndedKeep, 30*24*time.Hour)
	o.BytesMax = cmp.Or(o.BytesMax, 256<<20)
	if o.OnEvent == nil {
		o.OnEvent = func(messages.Event) {}
	}
	return o
}

const (
	// passEvery is the time between two passes of a placement.
	passEvery = time.Second
	// launchesMax bounds the unanswered launches at one fleet and location: otherwise all placements would ask for one freed process.
	launchesMax = 64
	// turnMax bounds the placements tried before the actor handles other messages.
	turnMax = 128
	// pauseFor is how long a queue skips the passes for freed processes after one of more than turnMax placements.
	pauseFor = 100 * time.Millisecond
)

// Messages to the Supervisor, besides the requests of package messages.
type (
	// Place starts a placement, unless its id exists, and reads it once it has ended: up to the queue's timeout, so for actors only.
	Place struct {
		messages.ToPlacements[*messages.Placement]
		Placement messages.StartPlacement
	}
	// Drain stops starting and trying placements. PENDING ones continue after the next start of the host, if its store is durable.
	Drain struct{}
	// CancelDrain starts and tries placements again.
	CancelDrain struct{}
)

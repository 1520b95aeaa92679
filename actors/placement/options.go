package placement

import (
	"cmp"
	"time"

	"troupe/actors/store"
	"troupe/messages"
)

// Options configure queues and placements. They must not change.
type Options struct {
	// Region and Account are parts of the ARNs of queues. Account has 12 digits; if it is empty, all are zero.
	Region, Account string
	// Queues are the configured queues. A queue of the same name in the store takes precedence.
	Queues []*messages.Queue
	// Store holds queues and placements. It is required. The caller closes it.
	Store store.Store
	// OnEvent receives the event of each ended placement once it is durable. It is called from any goroutine and must
	// not block. If it is nil, events are dropped.
	OnEvent func(messages.Event)
	// QueuesMax limits the number of queues. 0 means 1000.
	QueuesMax int
	// PendingMax limits the number of PENDING placements. 0 means 20,000.
	PendingMax int
	// EndedMax limits how many ended placements are kept, and EndedKeep limits how long (service-api.md 2.9). 0 means
	// 100,000 and 30 days.
	EndedMax  int
	EndedKeep time.Duration
	// BytesMax limits the total size of the records of all placements. The placements that ended first are forgotten
	// first. 0 means 256 MiB.
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
	// launchesMax limits the number of unanswered launches per fleet and location. Without it, all placements would try
	// to launch at a single freed process.
	launchesMax = 64
	// turnMax limits the number of placements that are tried before the actor handles other messages.
	turnMax = 128
	// pauseFor is how long a queue ignores freed processes after a pass with more than turnMax placements.
	pauseFor = 100 * time.Millisecond
)

// Messages to the Supervisor, in addition to the requests of package messages.
type (
	// Place starts a placement, unless one with its id exists. It is answered when the placement has ended, which may
	// take as long as the queue's timeout. Therefore only actors may use it.
	Place struct {
		messages.ToPlacements[*messages.Placement]
		Placement messages.StartPlacement
	}
	// Drain stops starting and trying placements. If the store is durable, PENDING placements continue after the next
	// start of the host.
	Drain struct{}
	// CancelDrain resumes starting and trying placements.
	CancelDrain struct{}
)

package placement

import (
	"time"

	"troupe/actors/fleet"
	"troupe/messages"
)

// state is where a placement is on its way.
type state uint8

const (
	idle       state = iota + 1 // between passes
	passing                     // its queue has it in a pass
	launching                   // the registry was asked for a game session
	activating                  // that is not ACTIVE yet
	seating                     // its players' seats are being reserved
	ending                      // its final record is being made durable
	ended
)

// entry is one life of a placement id.
type entry struct {
	record *messages.Placement // as others see it, once it is durable
	state  state
	size   int  // bytes of the record, about
	lost   bool // not remembered any more

	// While PENDING.
	queue   *queue
	ranking *Ranking
	start   time.Time // of the monotonic clock
	number  uint64    // in the order of starts
	due     time.Time // of the next step
	index   int       // in the heap of those; -1: not there
	passes  int
	order   []fleet.Candidate // of the pass, and where in it
	at      int
	blind   bool // the pass goes on after an attempt: what it knew of room is old
	tries   int  // which attempt an answer belongs to
	attempt messages.GameSessionID
	keeps   bool // it ends fulfilled, with its attempt
}

// id is the placement's.
func (e *entry) id() messages.PlacementID { return e.record.Request.ID }

// timeout is when the placement ends at the latest.
func (e *entry) timeout() time.Time { return e.start.Add(e.queue.record.Timeout) }

// queue is a queue with its placements.
type queue struct {
	record  *messages.Queue
	gone    bool     // deleted
	nowhere error    // why no destination takes placements; nil: one does
	pending []*entry // in the order of starts; those that are over are swept out later
	over    int      // how many of them are

	// Of passes. Several placements share one question for candidates.
	wanting    []*entry // their next pass is due
	all        bool     // a process became free: everybody's is
	asked      bool     // for candidates
	candidates []fleet.Candidate
	room       map[destination]bool
	rooms      int      // true ones in room
	batch      []*entry // in a pass, not looked at yet
	walking    bool
	blocked    []*entry // looked at, and waiting for a launch to be answered
	stalled    bool     // in Manager.stalled
	looked     int      // at so many in this pass
	resting    bool     // after a long one: what becomes free does not start the next
}

// full notes that a destination has no room.
func (q *queue) full(p destination) {
	if q.room[p] {
		q.room[p] = false
		q.rooms--
	}
}

// left writes down that a placement is not PENDING any more.
func (q *queue) left() {
	q.over++
	if q.over > 32 && q.over > len(q.pending)/2 {
		q.sweep()
	}
}

func (q *queue) sweep() {
	kept := make([]*entry, 0, len(q.pending)-q.over)
	for _, e := range q.pending {
		if e.state != ended {
			kept = append(kept, e)
		}
	}
	q.pending, q.over = kept, 0
}

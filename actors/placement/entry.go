package placement

import (
	"time"

	"troupe/actors/fleet"
	"troupe/messages"
)

// state is the progress of a placement.
type state uint8

const (
	idle       state = iota + 1 // between passes
	passing                     // its queue has it in a pass
	launching                   // the hosts were asked for a game session
	activating                  // the game session is ACTIVATING
	reserving                   // player sessions are being reserved
	ending                      // its final record is being made durable
	ended
)

// entry is one life of a placement id.
type entry struct {
	record *messages.Placement // as the API shows it, once durable
	state  state
	size   int  // approximate bytes of the record
	lost   bool // forgotten

	// While PENDING.
	queue   *queue
	ranking *Ranking
	start   time.Time // of the monotonic clock
	number  uint64    // in the order of starts
	due     time.Time // of the next step
	index   int       // in the heap of those; -1: not there
	passes  int
	order   []fleet.Candidate // of the pass, and the position in it
	at      int
	stale   bool // pass.room is older than an attempt of this placement: ignore it
	tries   int  // number of the attempt, to recognise late answers
	attempt messages.GameSessionID
	keeps   bool // it is being FULFILLED: the game session stays
}

// id is the placement's.
func (e *entry) id() messages.PlacementID { return e.record.Request.ID }

// timeout is when the placement times out.
func (e *entry) timeout() time.Time { return e.start.Add(e.queue.record.Timeout) }

// queue is a queue with its placements. Its booleans are independent: a deletion, an unhandled
// event, and a pause.
type queue struct {
	record  *messages.Queue
	deleted bool
	nowhere error    // why no destination takes placements; nil: one does
	pending []*entry // oldest first; ended ones are removed later
	over    int      // how many of pending have ended

	wanting   []*entry // placements whose next pass is due
	roomFreed bool     // a process became free: all placements are due
	resting   bool     // after a long pass roomFreed does not start the next at once
	pass      queuePass
}

// queuePass is one pass over the candidates, which several placements of the queue share.
//
//	noPass -> asking (the hosts, for candidates) -> walking -> noPass
type queuePass struct {
	stage      passStage
	candidates []fleet.Candidate
	room       map[destination]bool
	rooms      int      // how many of room are true
	batch      []*entry // not tried yet
	blocked    []*entry // wait for the answer to a launch, even after the pass
	stalled    bool     // the queue is in Manager.stalled
	looked     int      // how many placements were tried
}

// passStage is the progress of a pass.
type passStage uint8

const (
	noPass passStage = iota
	asking
	walking
)

// full notes that a destination has no room.
func (p *queuePass) full(d destination) {
	if p.room[d] {
		p.room[d] = false
		p.rooms--
	}
}

// left counts a placement that is no longer PENDING.
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

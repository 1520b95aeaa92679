package placement

import (
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// state is the progress of a placement.
type state uint8

const (
	idle       state = iota + 1 // between passes
	passing                     // in the current or next pass of its queue
	launching                   // waits for the hosts' answer to a launch
	activating                  // the game session is ACTIVATING
	reserving                   // player sessions are being reserved
	ending                      // its final record is being stored
	ended
)

// entry is one use of a placement id.
type entry struct {
	record *messages.Placement // as the API shows it, once durable
	state  state
	kept   ledger.Kept

	// While PENDING.
	queue     *queue
	ranking   *Ranking
	start     time.Time // of the monotonic clock
	number    uint64    // in the order of starts
	due       time.Time // of the next step
	index     int       // in Manager.due; -1: not there
	passes    int
	order     []messages.Candidate // of the pass, and the position in it
	at        int
	stale     bool // pass.room is older than the end of an attempt of this placement: ignore it
	tries     int  // number of the attempt, to recognise late answers
	attempt   messages.GameSessionID
	awaiting  []stage.Request[Place, *messages.Placement]
	fulfilled bool // it is being FULFILLED: the attempt is not ended
}

func (e *entry) id() messages.PlacementID { return e.record.Request.ID }

// answer tells those who wait for the end of the placement.
func (e *entry) answer(err error) {
	waiting := e.awaiting
	e.awaiting = nil
	for _, r := range waiting {
		r.With(&e.record)(err)
	}
}

func (e *entry) timeout() time.Time { return e.start.Add(e.queue.record.Timeout) }

// queue is a queue with its placements. Its booleans are independent: a deletion, an unhandled event, and a pause.
type queue struct {
	record        *messages.Queue
	deleted       bool
	noDestination error    // why no destination accepts placements; nil: one does
	pending       []*entry // oldest first; ended ones are removed later
	endedCount    int      // how many of pending have ended

	waiting   []*entry // placements for the next pass
	roomFreed bool     // a process became free: all placements are due
	paused    bool     // after a long pass: roomFreed does not start the next one at once
	pass      queuePass
}

// queuePass is one pass over the candidates, which several placements of the queue share.
//
//	noPass -> asking (the hosts, for candidates) -> walking -> noPass
type queuePass struct {
	stage      passStage
	candidates []messages.Candidate
	room       map[destination]bool
	rooms      int      // how many of room are true
	batch      []*entry // not tried yet
	blocked    []*entry // wait for the answer to a launch, even after the pass
	stalled    bool     // the queue is in Manager.stalled
	tried      int      // placements that this pass has tried
}

type passStage uint8

const (
	noPass passStage = iota
	asking
	walking
)

// countEnded counts a placement that is no longer PENDING, and removes such ones when there are many.
func (q *queue) countEnded() {
	q.endedCount++
	if q.endedCount > 32 && q.endedCount > len(q.pending)/2 {
		q.pending, q.endedCount = slices.DeleteFunc(slices.Clone(q.pending), func(e *entry) bool { return e.state == ended }), 0
	}
}

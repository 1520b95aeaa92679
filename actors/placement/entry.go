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
	idle       state = iota + 1 // waits for its next pass
	passing                     // in the current or next pass of its queue
	launching                   // waits for the hosts' answer to a launch
	activating                  // the game session is ACTIVATING
	reserving                   // its player sessions are being reserved
	ending                      // its final record is being stored
	ended
)

// entry is the state of one placement. A placement id may be reused, in which case there is a new entry.
type entry struct {
	record *messages.Placement // shown by the API once durable
	state  state
	kept   ledger.Kept

	// The following fields are used while the placement is PENDING.
	queue     *queue
	ranking   *Ranking
	start     time.Time // monotonic clock
	number    uint64    // sequence number, in the order of starts
	due       time.Time // time of the next step
	index     int       // index in Manager.due, or -1 if the entry is not in it
	passes    int
	order     []messages.Candidate // candidates of the pass; at is the position in it
	at        int
	stale     bool // pass.room is older than the end of this placement's last attempt, so it must be ignored
	tries     int  // number of the current attempt, used to recognize late answers
	attempt   messages.GameSessionID
	awaiting  []stage.Request[Place, *messages.Placement]
	fulfilled bool // the placement is becoming FULFILLED, so its attempt must not be ended
}

func (e *entry) id() messages.PlacementID { return e.record.Request.ID }

// answer answers the requests that wait for the end of the placement.
func (e *entry) answer(err error) {
	waiting := e.awaiting
	e.awaiting = nil
	for _, r := range waiting {
		r.With(&e.record)(err)
	}
}

func (e *entry) timeout() time.Time { return e.start.Add(e.queue.record.Timeout) }

// queue is a queue and its placements. Its booleans are independent of each other.
type queue struct {
	record        *messages.Queue
	deleted       bool
	noDestination error    // reason why no destination accepts placements; nil if one does
	pending       []*entry // oldest first; ended placements are removed later
	endedCount    int      // number of ended placements in pending

	waiting   []*entry // placements for the next pass
	roomFreed bool     // a process has become free, so all placements are due
	paused    bool     // after a long pass, freed processes do not start another pass at once
	pass      queuePass
}

// queuePass is one pass over the candidates. Several placements of the queue share it.
//
//	noPass -> asking (the hosts, for candidates) -> walking -> noPass
type queuePass struct {
	stage      passStage
	candidates []messages.Candidate
	room       map[destination]bool
	rooms      int      // number of true values in room
	batch      []*entry // placements that have not been tried yet
	blocked    []*entry // placements that wait for the answer to a launch; they may stay here after the pass
	stalled    bool     // the queue is in Manager.stalled
	tried      int      // number of placements that this pass has tried
}

type passStage uint8

const (
	noPass passStage = iota
	asking
	walking
)

// countEnded counts a placement that is no longer PENDING. When there are many ended placements in pending, it removes
// them.
func (q *queue) countEnded() {
	q.endedCount++
	if q.endedCount > 32 && q.endedCount > len(q.pending)/2 {
		q.pending, q.endedCount = slices.DeleteFunc(slices.Clone(q.pending), func(e *entry) bool { return e.state == ended }), 0
	}
}

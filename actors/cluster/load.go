package cluster

import (
	"bytes"
	"math/rand/v2"
	"time"

	"troupe/messages/coord"
)

const (
	loadSoon = time.Second      // minimum time between two writes of a load
	loadLate = 30 * time.Second // maximum delay until a small difference is written
)

// lateFor returns a node's own delay until it writes a small difference. Nodes whose loads change together must not all
// write in the same second, as each write reaches every node.
func lateFor(random *rand.Rand) time.Duration {
	return loadLate/2 + time.Duration(random.Int64N(int64(loadLate/2)))
}

// nextLoad returns how long to wait until a load is written: late, for a small difference. ok is false if it is already
// written. A newly registered node has not written a load.
func nextLoad(written, now *coord.Load, since, late time.Duration) (wait time.Duration, ok bool) {
	switch {
	case now == nil:
		return 0, false
	case written == nil:
		return 0, true
	case bytes.Equal(coord.Encode(written), coord.Encode(now)):
		return 0, false
	case differs(written, now):
		return max(0, loadSoon-since), true
	}
	return max(0, late-since), true
}

// differs reports whether the room of any fleet changes between zero and more, or changes by at least an eighth.
func differs(written, now *coord.Load) bool {
	rooms := map[[2]string]int{}
	for _, p := range written.Places {
		rooms[[2]string{p.Fleet, p.Location}] = p.Room
	}
	for _, p := range now.Places {
		at := [2]string{p.Fleet, p.Location}
		if much(rooms[at], p.Room) {
			return true
		}
		delete(rooms, at)
	}
	for _, room := range rooms {
		if room > 0 {
			return true
		}
	}
	return false
}

func much(was, is int) bool {
	return (was > 0) != (is > 0) || 8*max(was-is, is-was) >= was && was != is
}

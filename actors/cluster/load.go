package cluster

import (
	"bytes"
	"time"

	"troupe/messages/coord"
)

const (
	loadSoon = time.Second      // minimum time between two writes of a load
	loadLate = 30 * time.Second // delay until a small difference is written
)

// nextLoad returns how long to wait until a load is written. ok is false if it is already written. A newly registered
// node has not written a load.
func nextLoad(written, now *coord.Load, since time.Duration) (wait time.Duration, ok bool) {
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
	return max(0, loadLate-since), true
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

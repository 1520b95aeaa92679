package cluster

import (
	"sync"
	"time"

	"troupe/messages/coord"
)

// lag measures how late the watch of the coordinator is, from a write of this node's load to the event about it. The load
// is written every 30 s at the latest if it changes.
type lag struct {
	mu    sync.Mutex
	last  time.Duration
	known bool
	since time.Time // when the write began whose event has not come yet; zero if there is none
}

func (l *lag) written() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = time.Now()
	}
}

func (l *lag) seen(key string, events []coord.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if e.Key == key && !e.Deleted && !l.since.IsZero() {
			l.last, l.known, l.since = time.Since(l.since), true, time.Time{}
		}
	}
}

// Lag returns how late the node's watch of the coordinator is. ok is false if the node does not know it yet.
func (n *Node) Lag() (late time.Duration, ok bool) {
	l := &n.lag
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.since.IsZero() {
		if waits := time.Since(l.since); waits > l.last {
			return waits, true
		}
	}
	return l.last, l.known
}

// Trouble says what is wrong with this node's registration, or returns "" if nothing is. registered says whether the node
// is registered, as far as it knows.
func (n *Node) Trouble() (text string, registered bool) {
	n.mu.Lock()
	registered = n.present
	n.mu.Unlock()
	switch {
	case !n.reach.now():
		return "etcd does not answer it", registered
	case !registered:
		return "its registration has ended, and it registers anew", registered
	}
	return "", registered
}

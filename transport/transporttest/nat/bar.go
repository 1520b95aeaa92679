package nat

import (
	"sync/atomic"
	"time"
)

// Bar is a limit on how long something takes on a machine that has time for it. Where the
// machine lets goroutines wait, the limit is longer.
type Bar struct {
	n      *NAT
	began  time.Time
	waited time.Duration
	limit  time.Duration
}

const (
	// wakeUp is how late a goroutine may be woken on a machine that has time.
	wakeUp = 10 * time.Millisecond
	// hops is how often what a Bar limits waits for a processor while one goroutine
	// does so once: timers, sockets, host and clients, one after the other.
	hops = 3
	// barMax bounds a Bar, as a multiple of its limit.
	barMax = 10
)

// Bar starts one.
func (n *NAT) Bar(limit time.Duration) *Bar {
	return &Bar{n: n, began: time.Now(), waited: n.waited(), limit: limit}
}

// Took returns the time since the start.
func (b *Bar) Took() time.Duration { return time.Since(b.began) }

// Passed reports whether it took too long.
func (b *Bar) Passed() bool {
	return b.Took() > min(b.limit+hops*(b.n.waited()-b.waited), barMax*b.limit)
}

// lateness is by how much goroutines were woken too late, all in all.
type lateness struct{ total atomic.Int64 }

func (l *lateness) run(done <-chan struct{}) {
	ticker := time.NewTimer(wakeUp)
	defer ticker.Stop()
	for {
		asked := time.Now()
		ticker.Reset(wakeUp)
		select {
		case <-done:
			return
		case <-ticker.C:
			if late := time.Since(asked) - wakeUp; late > wakeUp {
				l.total.Add(int64(late))
			}
		}
	}
}

func (n *NAT) waited() time.Duration { return time.Duration(n.late.total.Load()) }

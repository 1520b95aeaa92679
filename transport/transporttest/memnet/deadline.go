package memnet

import (
	"sync"
	"time"
)

// deadline is a read or write deadline. The network's lock guards it.
type deadline struct {
	at    time.Time // zero: no deadline
	timer *time.Timer
}

// set changes the deadline. It wakes all waiting goroutines, now and when the deadline has passed.
func (d *deadline) set(at time.Time, cond *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = at
	if !at.IsZero() {
		if left := time.Until(at); left > 0 {
			d.timer = time.AfterFunc(left, func() {
				cond.L.Lock()
				defer cond.L.Unlock()
				cond.Broadcast()
			})
		}
	}
	cond.Broadcast()
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

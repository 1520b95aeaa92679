package player

import "time"

// moment is a time on the monotonic clock, in a third of the space of a time.Time: nanoseconds since
// the process started. 0 is no time.
type moment int64

var started = time.Now()

func now() moment { return moment(time.Since(started)) }

func (m moment) add(d time.Duration) moment { return m + moment(d) }

// since returns the time that has passed since m.
func (m moment) since() time.Duration { return time.Duration(now() - m) }

// until returns the time that is left until m.
func (m moment) until() time.Duration { return time.Duration(m - now()) }

package player

import (
	"sync/atomic"
	"time"
)

// Inflow limits the rate of reliable bytes that all players of a game session together send to its groups and its game.
// A limit per player is not enough, because each player may receive what all others send. While the total exceeds the
// limit, players above an equal share are slowed down. A nil *Inflow means no limit. Inflow is safe for concurrent use.
type Inflow struct {
	perSecond int64
	players   atomic.Int64
	paid      atomic.Int64 // the time at which the bytes taken so far will be within the limit, in nanoseconds of the callers' clock
}

// NewInflow returns a limit of perSecond bytes per second with a burst of one second. It returns nil if perSecond is 0.
func NewInflow(perSecond int) *Inflow {
	if perSecond <= 0 {
		return nil
	}
	return &Inflow{perSecond: int64(perSecond)}
}

// SetPlayers sets the number of players that share the limit.
func (f *Inflow) SetPlayers(n int) {
	if f != nil {
		f.players.Store(int64(n))
	}
}

// Share returns one player's equal share, in bytes per second.
func (f *Inflow) Share() float64 { return float64(f.perSecond) / float64(max(f.players.Load(), 1)) }

// Take counts bytes received at the time now and reports whether the players exceed the limit. All callers must use the
// same clock. The recorded excess is at most one second's worth of bytes.
func (f *Inflow) Take(now time.Duration, bytes int) (over bool) {
	cost := int64(bytes) * int64(time.Second) / f.perSecond
	for {
		paid := f.paid.Load()
		next := min(max(paid, int64(now-time.Second))+cost, int64(now+time.Second))
		if f.paid.CompareAndSwap(paid, next) {
			return next > int64(now)
		}
	}
}

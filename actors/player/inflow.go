package player

import (
	"sync/atomic"
	"time"
)

// Inflow bounds the reliable bytes that the players of one game session together send to
// its groups and its game: everybody receives all of that, so a bound per player is not
// enough. Over the bound, only players that send more than an equal part wait. Safe for
// concurrent use; a nil Inflow is no bound.
type Inflow struct {
	perSecond int64
	players   atomic.Int64
	paid      atomic.Int64 // when the bytes so far will be within the bound, in nanoseconds on the callers' clock
}

// NewInflow returns the bound of a game session in bytes per second, with a burst of one
// second; nil for 0.
func NewInflow(perSecond int) *Inflow {
	if perSecond <= 0 {
		return nil
	}
	return &Inflow{perSecond: int64(perSecond)}
}

// SetPlayers tells how many share it.
func (f *Inflow) SetPlayers(n int) {
	if f != nil {
		f.players.Store(int64(n))
	}
}

// Share is one player's part, in bytes per second.
func (f *Inflow) Share() float64 { return float64(f.perSecond) / float64(max(f.players.Load(), 1)) }

// Take counts bytes that arrived at now, and reports whether the players are over the
// bound. All callers must use the same clock. The debt is capped at one second.
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

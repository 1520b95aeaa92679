package player

import (
	"sync/atomic"
	"time"
)

// Inflow bounds the reliable bytes that all players of one game session together send to
// its groups and its game. A bound per player is not enough, because every player may
// receive all of these bytes. Over the bound, only players that send more than an equal
// share are slowed down. Safe for concurrent use; a nil Inflow is no bound.
type Inflow struct {
	perSecond int64
	players   atomic.Int64
	paid      atomic.Int64 // when the bytes taken so far will be within the bound, in nanoseconds of the callers' clock
}

// NewInflow returns the bound of a game session in bytes per second, with a burst of one
// second; nil for 0.
func NewInflow(perSecond int) *Inflow {
	if perSecond <= 0 {
		return nil
	}
	return &Inflow{perSecond: int64(perSecond)}
}

// SetPlayers sets how many players share the bound.
func (f *Inflow) SetPlayers(n int) {
	if f != nil {
		f.players.Store(int64(n))
	}
}

// Share returns one player's equal share, in bytes per second.
func (f *Inflow) Share() float64 { return float64(f.perSecond) / float64(max(f.players.Load(), 1)) }

// Take counts bytes that arrived at now, and reports whether the players are over the
// bound. All callers use the same clock. The excess is capped at one second's worth.
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

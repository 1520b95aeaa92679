package player

import (
	"sync/atomic"
	"time"
)

// Inflow bounds the reliable bytes that all players of a game session together send to its groups and its game: a bound per player is not
// enough, as each may receive them all. Over it, players above an equal share are slowed down. Safe for concurrent use; nil is no bound.
type Inflow struct {
	perSecond int64
	players   atomic.Int64
	paid      atomic.Int64 // when the bytes taken so far will be within the bound, in nanoseconds of the callers' clock
}

// NewInflow returns the bound in bytes per second, with a burst of one second; nil for 0.
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

// Take counts bytes at now, by one clock, and reports whether players are over the bound. It caps the excess at a second's worth.
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

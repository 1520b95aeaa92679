package player

import (
	"sync/atomic"
	"time"
)

// Inflow bounds the reliable bytes that the players of one game session send to its
// groups and its game together: all of it goes to everybody, and one player's own bound
// says nothing about a hundred of them. Over the bound, who sends more than an equal part
// waits, and nobody else does. Safe for concurrent use; a nil Inflow is no bound.
type Inflow struct {
	perSecond int64
	players   atomic.Int64
	paid      atomic.Int64 // until when what came is paid for, in nanoseconds on the caller's clock
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

// Take counts bytes that came at a moment of the caller's clock, which must be one for
// all callers, and reports whether that is over the bound. Who is over for long is not
// held to more than one second of it afterwards.
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

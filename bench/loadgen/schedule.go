package loadgen

import (
	"math/rand/v2"
	"time"
)

// schedule gives the intended send times: send k is made by player order[k mod n], phase[k mod n] into period k div n.
// It never changes after construction.
type schedule struct {
	period time.Duration
	order  []int           // players by slot
	phase  []time.Duration // by slot, ascending, below period
}

// newSchedule deals n players out over one period of 1/hz.
func newSchedule(n int, hz float64, seed uint64) schedule {
	rng := rand.New(rand.NewPCG(seed, 0x74726f757065))
	s := schedule{
		period: time.Duration(float64(time.Second) / hz),
		order:  rng.Perm(n),
		phase:  make([]time.Duration, n),
	}
	slot := float64(s.period) / float64(n)
	for i := range s.phase {
		s.phase[i] = time.Duration((float64(i) + rng.Float64()) * slot)
	}
	return s
}

// at returns who makes send k, and when, counted from the start of the load.
func (s schedule) at(k int) (player int, due time.Duration) {
	slot := k % len(s.order)
	return s.order[slot], time.Duration(k/len(s.order))*s.period + s.phase[slot]
}

package loadgen

import (
	"math/rand/v2"
	"time"
)

// schedule gives the intended send times: player order[k mod n] makes send k, at phase[k mod n] into period k div n. A
// schedule is immutable.
type schedule struct {
	period time.Duration
	order  []int           // players by slot
	phase  []time.Duration // by slot, ascending, below period
}

// newSchedule assigns n players to the slots of one period of 1/hz.
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

// at returns the player that makes send k, and its time since the start of the load.
func (s schedule) at(k int) (player int, due time.Duration) {
	slot := k % len(s.order)
	return s.order[slot], time.Duration(k/len(s.order))*s.period + s.phase[slot]
}

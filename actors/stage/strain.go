package stage

import (
	"cmp"
	"slices"
	"time"
)

// strain detects that writing output overloads the machine: adaptive shards spend most of their time in
// flushes, including waiting for a processor. The remedy is to collect output for longer, because messages
// that are written together cost less. The remedy also makes the sign disappear. So strain ends when the shard handles clearly fewer messages than at its
// beginning and is not late. It is also interrupted periodically to see whether it recurs.
//
// Without it, 250 rooms of 8 stay under a p99 of 50 ms up to 83,000 deliveries per second on two cores; with it up to
// 117,000, at 7.7 us of CPU for each instead of 11.2 (troupe bench run ramp --only=troupe).
//
// A shard that has too much to write is strained alone. If half of the shards are strained, the machine is
// overloaded, and all shards count as strained.
//
// Only the watch calls check and calm.
type strain struct {
	at     time.Time     // start of the current measuring period (stretch)
	shards []shardStrain // nil before the first check
	order  []float64     // used by check: pressures in descending order
}

// shardStrain is the state of one shard.
type shardStrain struct {
	judge    strainJudge
	work     workDone // total work at the start of the current stretch
	pressure float64  // pressure in the last stretch
	rate     float64  // messages per second in the last stretch
}

// workDone is the work of a shard since its start.
type workDone struct {
	flushing time.Duration // total time in flushes
	messages uint64        // number of messages handled by its actors
}

// pressure returns a value above 1 if the shard got too little processor time in the period took, during
// which its work increased from before to w.
func (w workDone) pressure(before workDone, took time.Duration) float64 {
	return float64(w.flushing-before.flushing) / float64(took) / strainShare
}

const (
	// strainStretch is the period over which work is judged. While a shard is strained, its strain is switched off from
	// time to time for strainProbe, to check whether it is still needed.
	strainStretch = 125 * time.Millisecond
	strainProbe   = 50 * time.Millisecond
	// A shard is strained if it spends more than strainShare of its time in flushes. Two consecutive stretches
	// are considered.
	strainShare = 0.7
	// strain ends when the message rate falls below strainRate times the rate when it began.
	strainRate = 0.75
	// strainHoldMin is how long strain lasts before the first interruption. Each interruption that finds
	// strain to be still necessary doubles that time, up to strainHoldMax. So interruptions take at most a
	// hundredth of the time, and a brief overload does not delay output for long.
	strainHoldMin = 5 * time.Second
	strainHoldMax = 40 * time.Second
)

// strainedInterval is the interval of an adaptive shard under strain. A fixed interval is what the operator
// said, also under strain.
const strainedInterval = 30 * time.Millisecond

// check judges the shards once per stretch. It returns at once if the stretch is not over.
func (s *strain) check(shards []*Shard) {
	now := time.Now()
	took, stretch := now.Sub(s.at), strainStretch
	for i := range s.shards {
		if s.shards[i].judge.probing {
			stretch = strainProbe
		}
	}
	if took < stretch {
		return
	}
	known := s.shards != nil && took < 2*strainStretch // otherwise the period contains time without checks
	if s.shards == nil {
		s.shards = make([]shardStrain, len(shards))
	}
	s.at, s.order = now, s.order[:0]
	for i, sh := range shards {
		w, of := sh.workDone(), &s.shards[i]
		of.pressure = w.pressure(of.work, took)
		of.rate = float64(w.messages-of.work.messages) / took.Seconds()
		of.work = w
		s.order = append(s.order, of.pressure)
	}
	if !known {
		return
	}
	slices.SortFunc(s.order, func(a, b float64) int { return cmp.Compare(b, a) })
	ofHalf := s.order[(len(s.order)-1)/2] // half of the shards have at least this pressure
	for i, sh := range shards {
		of := &s.shards[i]
		sh.strained.Store(of.judge.strained(now, max(of.pressure, ofHalf), of.rate))
	}
}

// calm ends strain when all shards are idle.
func (s *strain) calm(shards []*Shard) {
	for i := range s.shards {
		s.shards[i].judge = strainJudge{}
		shards[i].strained.Store(false)
	}
}

// strainJudge decides when strain begins and ends for one shard.
type strainJudge struct {
	on       bool
	probing  bool          // strain is being interrupted
	pressure float64       // pressure in the last stretch
	rate     float64       // messages per second when strain began or was last interrupted
	since    time.Time     // when strain began, or when its last interruption ended
	hold     time.Duration // time from since to the next interruption
}

// strained returns whether the shard is strained in the next stretch. pressure and rate (messages per second)
// are those of the last stretch.
func (j *strainJudge) strained(now time.Time, pressure, rate float64) bool {
	last := j.pressure
	j.pressure = pressure
	switch {
	case j.probing:
		j.probing, j.on = false, pressure > 1
		j.since, j.hold = now, min(2*j.hold, strainHoldMax)
	case !j.on && (last+pressure)/2 > 1:
		j.on, j.rate, j.since, j.hold = true, rate, now, strainHoldMin
	// With pressure above 1, the rate may be lower only because the machine is overloaded
	case j.on && rate < strainRate*j.rate && pressure <= 1:
		j.on = false
	case j.on && now.Sub(j.since) >= j.hold:
		j.probing, j.on, j.rate = true, false, rate
	}
	return j.on
}

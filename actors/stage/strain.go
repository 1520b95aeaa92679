package stage

import (
	"cmp"
	"slices"
	"time"
)

// strain tells whether the machine is full of writing: a shard with an interval flushes late; an adaptive one spends most
// of its time in flushes, waits for a processor included. Output is then collected for longer: messages written together
// cost less. That relief ends both signs, so strain ends when clearly fewer messages come than at its begin and the shard
// is not behind; and it is interrupted now and then to see whether it comes again.
//
// A shard that has too much to write is strained alone; the others too if half of the shards are: the machine is full.
//
// The watch calls check and calm.
type strain struct {
	at     time.Time     // when the last stretch began
	shards []shardStrain // nil before the first check
	order  []float64     // scratch of check: pressures, the greatest first
}

// shardStrain is what is known of one shard.
type shardStrain struct {
	judge    strainJudge
	work     workDone // until the last stretch began
	pressure float64  // in the last stretch
	rate     float64  // messages per second in the last stretch
}

// workDone is what a shard has done since its start.
type workDone struct {
	flushing time.Duration // time in flushes
	messages uint64        // that its actors have handled
	late     time.Duration // by which groups were flushed after their turns
	turns    int           // flushes of groups at their turns
}

// pressure is above 1 if a shard that was at before has got too little of the processors in the time since then.
func (w workDone) pressure(before workDone, took, interval time.Duration) float64 {
	share := float64(w.flushing-before.flushing) / float64(took)
	if interval < 0 {
		return share / strainShare
	}
	late := float64(w.late-before.late) / float64(max(1, w.turns-before.turns)) / float64(max(1, interval))
	return max(late/strainLate, share/strainShareFixed)
}

const (
	// strainStretch is the time over which work is judged, and strainProbe that of an interruption.
	strainStretch = 125 * time.Millisecond
	strainProbe   = 50 * time.Millisecond
	// strainShare is the share of its time in flushes that strains an adaptive shard, strainShareFixed one with an
	// interval, or flushes late by strainLate of it on average. Two stretches count.
	strainShare      = 0.7
	strainShareFixed = 0.9
	strainLate       = 0.2
	// strainRate is the part of the messages at its beginning below which strain ends.
	strainRate = 0.75
	// strainHoldMin is how long strain lasts until an interruption. It doubles, up to strainHoldMax, each time strain was
	// still needed: interruptions are at most a hundredth of the time, and a moment's trouble does not hold output for long.
	strainHoldMin = 5 * time.Second
	strainHoldMax = 40 * time.Second
)

// strainedInterval is the interval of an adaptive shard under strain. That of another shard is strainTimes its own.
const (
	strainedInterval = 30 * time.Millisecond
	strainTimes      = 2
)

// check judges the shards once per stretch.
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
	known := s.shards != nil && took < 2*strainStretch // else something of the time between is not
	if s.shards == nil {
		s.shards = make([]shardStrain, len(shards))
	}
	s.at, s.order = now, s.order[:0]
	for i, sh := range shards {
		w, of := sh.workDone(), &s.shards[i]
		of.pressure = w.pressure(of.work, took, sh.policy.Interval)
		of.rate = float64(w.messages-of.work.messages) / took.Seconds()
		of.work = w
		s.order = append(s.order, of.pressure)
	}
	if !known {
		return
	}
	slices.SortFunc(s.order, func(a, b float64) int { return cmp.Compare(b, a) })
	ofHalf := s.order[(len(s.order)-1)/2] // half of the shards have at least so much
	for i, sh := range shards {
		of := &s.shards[i]
		sh.strained.Store(of.judge.strained(now, max(of.pressure, ofHalf), of.rate))
	}
}

// calm ends strain, because nothing is done any more.
func (s *strain) calm(shards []*Shard) {
	for i := range s.shards {
		s.shards[i].judge = strainJudge{}
		shards[i].strained.Store(false)
	}
}

// strainJudge decides when strain begins and ends.
type strainJudge struct {
	on       bool
	probing  bool          // strain is interrupted
	pressure float64       // in the last stretch
	rate     float64       // messages per second when strain began, or when it was last interrupted
	since    time.Time     // when it began or was last interrupted
	hold     time.Duration // the next interruption comes so long after that
}

// strained takes the last stretch's pressure and messages per second, and reports strain for the next one.
func (j *strainJudge) strained(now time.Time, pressure, rate float64) bool {
	last := j.pressure
	j.pressure = pressure
	switch {
	case j.probing:
		j.probing, j.on = false, pressure > 1
		j.since, j.hold = now, min(2*j.hold, strainHoldMax)
	case !j.on && (last+pressure)/2 > 1:
		j.on, j.rate, j.since, j.hold = true, rate, now, strainHoldMin
	case j.on && rate < strainRate*j.rate && pressure <= 1: // fewer messages may also mean that a full machine handles fewer
		j.on = false
	case j.on && now.Sub(j.since) >= j.hold:
		j.probing, j.on, j.rate = true, false, rate
	}
	return j.on
}

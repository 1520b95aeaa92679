package matchmaking

import (
	"context"
	"fmt"
	"slices"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

// PassLoad is a load of matchmaking passes without a host. Tickets arrive at a fixed rate in virtual time, and there is
// one pass per virtual second.
type PassLoad struct {
	RuleSet    string
	Waiting    int           // tickets in the pool at the start
	Rate       int           // arriving tickets per virtual second
	Warm       time.Duration // virtual time before the measured part
	Measure    time.Duration // virtual time of the measured part
	Refill     bool          // start each pass with a new pool of Waiting tickets
	Population Population
}

// PassFigures are the results of a load. Times are real time.
type PassFigures struct {
	Passes  []time.Duration // tickets matched in all measured passes
	Matched int             // tickets, in all measured passes
	Waiting float64         // average number of tickets in the pool after a pass
	Cut     int             // passes that ended because their budget was used up
	Adding  time.Duration   // time to add the tickets that arrived in the measured part
}

// Run runs the load. It returns an error of the rule set, of a ticket, or of ctx.
func (l PassLoad) Run(ctx context.Context) (f PassFigures, err error) {
	set, err := ruleset.Parse(l.RuleSet, ruleset.Options{})
	if err != nil {
		return f, err
	}
	passes := int(l.Measure / time.Second)
	warm := int(l.Warm / time.Second)
	p := l.Population
	p.Tickets = l.Waiting
	if !l.Refill {
		p.Tickets += l.Rate * (warm + passes)
	}
	p.PerSecond = 1
	tickets, err := p.Generate(set)
	if err != nil {
		return f, err
	}
	pool := match.New(set, match.Options{})
	add := func(n int, start func(i int) time.Time) error {
		for i := range n {
			t := tickets[i]
			t.Start = start(i)
			if err := pool.Add(t); err != nil {
				return fmt.Errorf("ticket %s: %w", t.ID, err)
			}
		}
		return nil
	}
	now := epoch
	waiting := 0
	for i := range warm + passes {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		began := time.Now()
		if i == 0 || l.Refill {
			pool = match.New(set, match.Options{})
			spread := time.Minute / time.Duration(max(l.Waiting, 1)) // they arrived within the last minute
			if err := add(l.Waiting, func(j int) time.Time { return now.Add(time.Duration(j)*spread - time.Minute) }); err != nil {
				return f, err
			}
			if !l.Refill {
				tickets = tickets[l.Waiting:]
			}
		}
		if !l.Refill {
			if err := add(l.Rate, func(j int) time.Time { return now.Add(time.Duration(j) * time.Second / time.Duration(l.Rate)) }); err != nil {
				return f, err
			}
			tickets = tickets[l.Rate:]
		}
		added := time.Since(began)
		now = now.Add(time.Second)
		began = time.Now()
		s := pool.Begin(now, uint64(i))
		for !s.Step(20_000) {
		}
		took := time.Since(began)
		if i < warm {
			continue
		}
		f.Passes, f.Adding = append(f.Passes, took), f.Adding+added
		for _, m := range s.Take() {
			f.Matched += len(m.Tickets)
		}
		if waiting += pool.Len(); s.Cut() {
			f.Cut++
		}
	}
	f.Waiting = float64(waiting) / float64(max(passes, 1))
	slices.Sort(f.Passes)
	return f, nil
}

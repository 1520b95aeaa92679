package cluster

import (
	"context"
	"time"

	"troupe/messages/coord"
)

const (
	goneFor   = 24 * time.Hour   // how long the record of an ended game session is kept
	goneMax   = 450_000          // number of these records that a pass keeps; those that come until the next pass may make it 500,000
	goneStep  = 10 * time.Minute // records are deleted before goneFor in steps of this age
	sweepPage = 1000             // number of records in one read
	sweepRest = time.Second      // pause between two reads
	sweepRate = 10 * time.Minute // interval between two passes
	sweepMax  = 49               // maximum number of records that are deleted in one transaction; each uses two of its operations
)

// Sweep deletes the records of game sessions that ended more than 24 h ago, until ctx ends. If there are more than goneMax
// records, the next pass also deletes the oldest ones. Only the leader calls Sweep: leads holds as long as this node leads.
func (d *Directory) Sweep(ctx context.Context, leads coord.Condition) {
	keep := goneFor
	for ctx.Err() == nil {
		begin := time.Now()
		if ages, done := d.sweep(ctx, leads, keep); done {
			keep = ages.keep()
		}
		Sleep(ctx, sweepRate-time.Since(begin))
	}
}

// goneAges counts records by their age, in steps of goneStep.
type goneAges [goneFor / goneStep]int

// keep returns the age up to which goneMax records are enough. It is at least one step.
func (a *goneAges) keep() time.Duration {
	total := 0
	for step, n := range a {
		if total += n; total > goneMax {
			return time.Duration(max(1, step)) * goneStep
		}
	}
	return goneFor
}

// sweep makes one pass: it deletes the records that are older than keep, and counts the others. done is false if the pass
// was not completed.
func (d *Directory) sweep(ctx context.Context, leads coord.Condition, keep time.Duration) (ages goneAges, done bool) {
	q := coord.Query{Key: d.o.Keys.Gone(""), Prefix: true, Most: sweepPage}
	var p pause
	for ctx.Err() == nil {
		found, err := request(ctx, func(ctx context.Context) (coord.Found, error) { return d.o.Coordinator.Read(ctx, q) })
		if err != nil {
			p.rest(ctx)
			continue
		}
		var old []coord.KV
		for _, kv := range found.KVs {
			gone, err := coord.Decode[coord.Gone](kv)
			if age := time.Since(gone.Ended); err != nil || age >= keep {
				old = append(old, kv)
			} else {
				ages[max(0, age)/goneStep]++
			}
		}
		for len(old) > 0 {
			n := min(len(old), sweepMax)
			if !d.deleteGone(ctx, leads, old[:n]) {
				return ages, false
			}
			old = old[n:]
		}
		if !found.More {
			return ages, true
		}
		q.After = found.KVs[len(found.KVs)-1].Key
		Sleep(ctx, sweepRest)
	}
	return ages, false
}

// deleteGone makes one attempt to delete records. It reports whether the coordinator has answered. What is left is
// deleted by the next pass.
func (d *Directory) deleteGone(ctx context.Context, leads coord.Condition, records []coord.KV) bool {
	when := []coord.Condition{leads}
	var changes []coord.Change
	for _, kv := range records {
		when = append(when, coord.Unchanged(kv.Key, kv.Changed))
		changes = append(changes, coord.Delete(kv.Key))
	}
	_, _, err := d.commit(ctx, when, changes)
	return err == nil
}

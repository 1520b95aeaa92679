package player

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/actors/stage"
)

// collector plays a player to whom messages come, and writes them as waiting says.
type collector struct {
	w       waiting
	hold    int64
	waits   []int64 // since when each waits
	writes  int
	waited  []int64 // for how long each did
	longest int64
}

// come has one message come at a time.
func (c *collector) come(now int64) {
	if c.w.dirty && now >= c.w.due {
		c.write(c.w.due, c.w.due)
	}
	c.waits = append(c.waits, now)
	switch c.w.add(1) {
	case PushDirty:
		c.w.until(stage.Turn{Now: now, Due: now + c.hold, Interval: time.Duration(c.hold)})
	case PushFlushAtEnd:
		c.write(now, stage.EndOfBatch)
	}
}

func (c *collector) write(now, due int64) {
	if !c.w.ends(due) {
		return
	}
	c.writes++
	for _, since := range c.waits {
		c.waited = append(c.waited, now-since)
		c.longest = max(c.longest, now-since)
	}
	c.waits = c.waits[:0]
}

// Messages that are written when enough of them wait take no more writes than those that are written once in the time,
// and half of them wait for far less.
func TestEnoughMessagesAreWrittenEarly(t *testing.T) {
	t.Parallel()
	const hold = int64(15 * time.Millisecond)
	for _, c := range []struct {
		perSecond int
		median    time.Duration // of the wait, at most
	}{
		{50, 6 * time.Millisecond}, {107, 2 * time.Millisecond}, {160, 2 * time.Millisecond}, {213, 6 * time.Millisecond}, {490, 7 * time.Millisecond},
	} {
		random := rand.New(rand.NewPCG(1, uint64(c.perSecond)))
		player, now := collector{hold: hold}, int64(1)
		const messages = 20000
		for range messages {
			now += int64(random.ExpFloat64() * 1e9 / float64(c.perSecond))
			player.come(now)
		}
		median := middle(player.waited)
		once := int(now / hold)
		t.Logf("%d messages/s: %d writes, %d times %v; median wait %v", c.perSecond, player.writes, once, time.Duration(hold), median)
		if median > c.median || player.longest > hold {
			t.Errorf("%d messages/s: half of them wait %v, one %v", c.perSecond, median, time.Duration(player.longest))
		}
		if limit := once * 5 / 4; player.writes > limit {
			t.Errorf("%d messages/s: %d writes, want %d at most", c.perSecond, player.writes, limit)
		}
	}
}

func middle(v []int64) time.Duration {
	sorted := slices.Sorted(slices.Values(v))
	return time.Duration(sorted[len(sorted)/2])
}

// A turn of messages that were written before means nothing to those that came later and have a later turn.
func TestAnEarlierTurnIsLeftOut(t *testing.T) {
	t.Parallel()
	var w waiting
	w.add(1)
	w.until(stage.Turn{Now: 1, Due: 100, Interval: 100})
	if got := w.add(1); got != PushFlushAtEnd {
		t.Fatalf("the second of two: %v", got)
	}
	if !w.ends(stage.EndOfBatch) || w.ends(100) {
		t.Fatal("written once for the number, and not again")
	}
	w.add(1)
	w.until(stage.Turn{Now: 90, Due: 190, Interval: 100})
	if w.ends(100) || !w.ends(190) {
		t.Fatal("not at the turn of the others, but at its own")
	}
}

// Messages that come in one batch are written together, however many are enough.
func TestABurstIsOneWrite(t *testing.T) {
	t.Parallel()
	var w waiting
	var asked [4]int
	for range 40 {
		asked[w.add(1)]++
		if w.enough == 0 {
			w.until(stage.Turn{Now: 1, Due: 100, Interval: 100})
		}
	}
	if asked[PushDirty] != 1 || asked[PushFlushAtEnd] != 1 || !w.ends(stage.EndOfBatch) {
		t.Fatalf("asked for flushes %v", asked)
	}
}

package player

import (
	"testing"

	"troupe/messages/counters"
)

func TestThePlayerActorIsToldOfAnOverflowOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		from               overflowState
		over, cut, refused bool
		want               overflowState
		tell               bool
	}{
		{"a message that fits", withinBudget, false, false, false, withinBudget, false},
		{"the first over the budget", withinBudget, true, false, false, overBudget, true},
		{"the second over the budget", overBudget, true, false, false, overBudget, false},
		{"over the reserve, too, at once", withinBudget, true, true, false, cutOff, true},
		{"over the reserve, too", overBudget, true, true, false, cutOff, false},
		{"room again under a connection that was cut off", cutOff, false, false, false, cutOff, false},
		{"full again under a connection that was cut off", cutOff, true, false, false, cutOff, false},
		{"the reserve is for the way back", onReserve, true, false, false, onReserve, false},
		{"the reserve is used up", onReserve, true, false, true, reserveRefused, true},
		{"it is still used up", reserveRefused, true, false, true, reserveRefused, false},
	} {
		if got, tell := c.from.afterPush(c.over, c.cut, c.refused); got != c.want || tell != c.tell {
			t.Errorf("%s: state %d, told %v; want %d, %v", c.name, got, tell, c.want, c.tell)
		}
	}
}

func TestTheReserveIsForAQueueThatWasFullWhenItsConnectionWent(t *testing.T) {
	t.Parallel()
	for from, want := range map[overflowState][2]overflowState{ // for each state: the new state with a connection and without one
		withinBudget:   {withinBudget, withinBudget},
		overBudget:     {onReserve, withinBudget},
		cutOff:         {onReserve, withinBudget},
		onReserve:      {onReserve, onReserve},
		reserveRefused: {onReserve, onReserve},
	} {
		if got := [2]overflowState{from.afterDetach(true), from.afterDetach(false)}; got != want {
			t.Errorf("state %d becomes %v, want %v", from, got, want)
		}
	}
}

func TestAQueueNumbersWhatIsReliableAndKeepsItUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	var made frames
	q := queue{budget: &Budget{BytesMax: 1 << 20, MessagesMax: 100}, count: new(counters.Set)}
	for i := range 4 {
		f := made.make(10)
		if i == 1 {
			q.putFast(f, f.Len())
		} else {
			q.put(f, f.Len(), false)
		}
	}
	for _, n := range []uint64{1, 0, 2} {
		if it := q.take(); it == nil || it.n != n {
			t.Fatalf("took %+v, want number %d", it, n)
		}
	}
	q.sent = 2
	if q.confirmUpTo(1); q.base != 1 || q.n != 3 || q.next != 2 {
		t.Errorf("confirmed up to %d; %d are held, %d of them taken", q.base, q.n, q.next)
	}
	q.release(q.at(0)) // the item for the fast channel has been written
	if q.rewind(); q.n != 2 || q.next != 0 || q.waiting != q.bytes {
		t.Errorf("after a rewind %d are held, %d taken", q.n, q.next)
	}
	if again := q.begin(); again.Messages != 1 {
		t.Errorf("%d are sent again, want the one that was taken", again.Messages)
	}
	if !q.consistent() {
		t.Error("the queue is not sound")
	}
	q.clear()
	made.balanced(t)
}

// A queue that is repeatedly filled and confirmed keeps its ring. A queue that was filled only once, or much further
// than a stock client leaves messages unconfirmed, frees its ring.
func TestAQueueKeepsTheRingThatItNeeds(t *testing.T) {
	t.Parallel()
	var made frames
	q := queue{budget: &Budget{BytesMax: 1 << 20, MessagesMax: 1 << 13}, count: new(counters.Set)}
	fill := func(n int) {
		for range n {
			f := made.make(10)
			q.put(f, f.Len(), false)
		}
		q.clear()
	}
	const ring = 256 // room for markCount messages and for some messages that are sent together with the mark
	for _, step := range []struct{ messages, ring int }{
		{markCount, ring}, {ring, ring}, {markCount / 2, ring},
		{ring / 4, 0}, // the queue needs less now
		{ringKeepMax, ringKeepMax}, {1, ringKeepMax},
		{8 * markCount, 0},
	} {
		if fill(step.messages); len(q.ring) != step.ring {
			t.Errorf("after %d messages the ring has room for %d, want %d", step.messages, len(q.ring), step.ring)
		}
	}
	made.balanced(t)
}

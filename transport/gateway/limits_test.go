package gateway

import (
	"slices"
	"testing"
	"time"

	"troupe/actors/player"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const second = time.Second

func TestBucketTellsHowLongToWait(t *testing.T) {
	r := rate{perSecond: 10, burst: 2}
	var b bucket
	for i, want := range []time.Duration{0, 0, 100 * time.Millisecond, 200 * time.Millisecond} {
		if got := b.take(r, second, 1); got != want {
			t.Errorf("take %d: wait %v, want %v", i, got, want)
		}
	}
	if got := b.take(r, second+300*time.Millisecond, 1); got != 0 {
		t.Errorf("after the debt is paid: wait %v", got)
	}
	if b.tryTake(r, second+300*time.Millisecond, 1) {
		t.Error("an empty bucket gave a token")
	}
	if got := (&bucket{}).take(rate{}, second, 1e9); got != 0 {
		t.Errorf("a bucket that is off made wait %v", got)
	}
}

// In any period, a bucket admits at most its burst plus its rate times the period.
func TestBucketBoundsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rate{perSecond: rapid.Float64Range(1, 1000).Draw(t, "rate"), burst: rapid.Float64Range(1, 100).Draw(t, "burst")}
		var b bucket
		now, start, passed := second, second, 0.0
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			now += time.Duration(rapid.IntRange(0, 50_000_000).Draw(t, "gap"))
			if b.tryTake(r, now, 1) {
				passed++
			}
		}
		if most := r.burst + (now-start).Seconds()*r.perSecond + 1e-6; passed > most {
			t.Fatalf("%v passed, %v allowed", passed, most)
		}
	})
}

func TestInputRateTellsForHowLongAPlayerIsOver(t *testing.T) {
	rates := ratesOf(Limits{MessagesPerSecond: 1, MessageBurst: 1})
	var i inputRate
	i.reliable(&rates, second, 1, 10)
	if wait, over := i.reliable(&rates, 3*second/2, 1, 10); wait == 0 || over != 0 {
		t.Errorf("first over: wait %v over %v", wait, over)
	}
	if _, over := i.reliable(&rates, 2*second, 1, 10); over != second/2 {
		t.Errorf("still over: %v", over)
	}
	if wait, over := i.reliable(&rates, 60*second, 1, 10); wait != 0 || over != 0 {
		t.Errorf("after a rest: wait %v over %v", wait, over)
	}
}

func TestAttemptsAreCountedPerMinute(t *testing.T) {
	a := newAttempts[string](3)
	now := time.Unix(1000, 0)
	for range 3 {
		if a.over(now, "x") {
			t.Fatal("over too early")
		}
		a.add(now, "x")
	}
	if !a.over(now, "x") || a.over(now, "y") {
		t.Error("the fourth passes, or another key pays for it")
	}
	if !a.over(now.Add(59*time.Second), "x") {
		t.Error("forgotten within the minute")
	}
	if a.over(now.Add(61*time.Second), "x") {
		t.Error("nothing decays")
	}
	if a.over(now.Add(3*time.Minute), "x") {
		t.Error("never forgotten")
	}
	if off := newAttempts[string](0); off.over(now, "x") {
		t.Error("switched off, and over")
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	a := newAttempts[int](3)
	now := time.Unix(1000, 0)
	for i := range 3 * attemptKeysMax {
		a.add(now, i)
	}
	if n := len(a.now) + len(a.last); n > 2*attemptKeysMax {
		t.Errorf("%d keys", n)
	}
}

// The total input of a game session's players is limited. A player that sends less than an equal
// share never waits for players that send more.
func TestARoomIsSharedByThoseWhoSend(t *testing.T) {
	const bound = 200_000
	for _, c := range []struct {
		name string
		each []int // bytes per second that each player tries to send
		want []int // bytes per second that each player can send in the long run, approximately
	}{
		{"one", []int{150_000}, []int{150_000}},
		{"one at all there is", []int{400_000}, []int{200_000}},
		{"a quiet one beside two loud ones", []int{10_000, 300_000, 300_000}, []int{10_000, 95_000, 95_000}},
		{"all within", []int{60_000, 60_000, 60_000}, []int{60_000, 60_000, 60_000}},
	} {
		f := player.NewInflow(bound)
		f.SetPlayers(len(c.each))
		var shares [4]roomShare
		next, sent := make([]time.Duration, len(c.each)), make([]int, len(c.each))
		const size, length = 1000, 20 * time.Second
		waits := make([]time.Duration, len(c.each))
		for now := time.Second; now < time.Second+length; now += time.Millisecond {
			for i, want := range c.each {
				for next[i] <= now {
					sent[i] += size
					wait := shares[i].take(f, now, size)
					waits[i] += wait
					next[i] = max(next[i]+time.Duration(size)*time.Second/time.Duration(want), now+wait)
				}
			}
		}
		for i, want := range c.want {
			got := sent[i] / int(length/time.Second)
			if got < want*9/10 || got > want*12/10 {
				t.Errorf("%s: player %d sends %d bytes a second, want %d", c.name, i, got, want)
			}
			if c.each[i] <= bound/len(c.each) && waits[i] > 0 {
				t.Errorf("%s: player %d waits %v", c.name, i, waits[i])
			}
		}
		if slices.Max(c.each) > bound && slices.Max(waits) == 0 {
			t.Errorf("%s: nobody waits", c.name)
		}
	}
}

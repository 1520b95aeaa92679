package gateway

import (
	"testing"
	"time"

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

// Over any time, a bucket lets through at most its burst and its rate.
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

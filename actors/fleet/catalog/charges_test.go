package catalog

import (
	"strconv"
	"testing"
	"time"

	"troupe/messages"
)

func TestACreatorMayCreateOncePerSecond(t *testing.T) {
	var c creators
	now := time.Unix(1000, 0)
	who := creator{"fleet-a", "x"}
	for _, step := range []struct {
		after time.Duration
		who   creator
		want  bool
	}{
		{0, who, true}, {999 * time.Millisecond, who, false}, {0, creator{"fleet-a", "y"}, true},
		{0, creator{"fleet-b", "x"}, true}, {time.Millisecond, who, true}, {time.Millisecond, who, false},
	} {
		now = now.Add(step.after)
		got := c.allow(step.who, withoutPolicy, now)
		if got != step.want {
			t.Errorf("%v at %v: %v", step.who, now, got)
		}
		if got {
			c.remember(step.who, withoutPolicy, now)
		}
	}
	for i := range 10_000 {
		now = now.Add(withoutPolicy.Period / 10)
		c.remember(creator{"fleet-a", strconv.Itoa(i)}, withoutPolicy, now)
	}
	if n := len(c.made); n > 30 {
		t.Errorf("%d creators are remembered", n)
	}
}

func TestACreatorIsLimitedPerPeriod(t *testing.T) {
	var c creators
	l := messages.CreatorLimit{PerPeriod: 3, Period: time.Minute}
	who := creator{"fleet-a", "x"}
	start := time.Unix(1000, 0)
	for at, want := range []bool{0: true, 10: true, 20: true, 30: false, 59: false, 60: true, 61: false, 69: false, 70: true, 71: false} {
		now := start.Add(time.Duration(at) * time.Second)
		switch at {
		case 0, 10, 20, 30, 59, 60, 61, 69, 70, 71:
		default:
			continue
		}
		got := c.allow(who, l, now)
		if got != want {
			t.Errorf("at %d s: %v", at, got)
		}
		if got {
			c.remember(who, l, now)
		}
	}
	for _, off := range []*messages.CreatorLimit{{}, {PerPeriod: 1}, {Period: time.Minute}} {
		if _, limited := creatorLimit(&messages.Fleet{CreatorLimit: off}); limited {
			t.Errorf("%+v limits", off)
		}
	}
}

func TestACreatorIsNotChargedForAFailedGameSession(t *testing.T) {
	var c creators
	now, who := time.Unix(1000, 0), creator{"fleet-a", "x"}
	c.refund(who)
	c.remember(who, withoutPolicy, now)
	c.refund(who)
	c.refund(who)
	if !c.allow(who, withoutPolicy, now) {
		t.Error("it may not create")
	}
}

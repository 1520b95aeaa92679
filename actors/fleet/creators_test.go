package fleet

import (
	"strconv"
	"testing"
	"time"
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
		got := c.allow(step.who, now)
		if got != step.want {
			t.Errorf("%v at %v: %v", step.who, now, got)
		}
		if got {
			c.remember(step.who, now)
		}
	}
	for i := range 10_000 {
		now = now.Add(creatorPause / 10)
		c.remember(creator{"fleet-a", strconv.Itoa(i)}, now)
	}
	if n := len(c.last); n > 25 {
		t.Errorf("%d creators are remembered", n)
	}
}

package server

import (
	"testing"
	"time"
)

func TestTheLastCollectionIsRead(t *testing.T) {
	c, err := lastCollection("x\ngc 1 @0.020s 4%: 0.008+0.93+0.003 ms clock, 0.016+0.38/0.87/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n" +
		"gc 2 @0.1s 4%: 1+20+3 ms clock, 2+4/30/5+6 ms cpu, 400->410->123 MB, 4 MB goal, 2 P (forced)\nmore\n")
	if want := (Collection{Wall: 24 * time.Millisecond, Stopped: 4 * time.Millisecond, CPU: 42 * time.Millisecond, LiveMiB: 123}); c != want || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := lastCollection("nothing"); err == nil {
		t.Error("one was read of nothing")
	}
}

package websocket

import (
	"testing"
	"time"
)

// A reader that makes progress is not cut, even if the first segment of the queue takes long. A reader that has
// stopped is cut after one to two timeouts.
func TestAReaderThatMakesProgressIsNotCut(t *testing.T) {
	const timeout = 8 * time.Second
	for name, c := range map[string]struct {
		wrote []int    // bytes written by each write that timed out
		acked []uint64 // bytes acknowledged at that time; 0 if the kernel does not tell
		after time.Duration
	}{
		"stopped":                 {[]int{0, 0}, []uint64{7, 7}, timeout},
		"acknowledges":            {[]int{0, 0, 0, 0, 0}, []uint64{7, 8, 9, 10, 10}, 4 * timeout},
		"the kernel takes some":   {[]int{0, 1, 0, 0}, []uint64{7, 7, 7, 7}, 2 * timeout},
		"the kernel does not say": {[]int{0, 0}, []uint64{0, 0}, timeout},
	} {
		var way moves
		passed := time.Duration(0)
		for i, n := range c.wrote {
			passed += way.wait(timeout)
			if way.moved(n, c.acked[i], c.acked[i] > 0) != (i < len(c.wrote)-1) {
				t.Errorf("%s: after write %d it is cut, or not", name, i)
			}
		}
		if passed != c.after {
			t.Errorf("%s: cut after %v, want %v", name, passed, c.after)
		}
	}
}

package cluster

import (
	"testing"
	"time"
)

func TestGoneAges(t *testing.T) {
	for what, c := range map[string]struct {
		counts map[int]int // by step of ten minutes
		want   time.Duration
	}{
		"none":                 {nil, 24 * time.Hour},
		"few":                  {map[int]int{0: 10, 143: goneMax - 10}, 24 * time.Hour},
		"one too many":         {map[int]int{0: 10, 143: goneMax - 9}, 24*time.Hour - 10*time.Minute},
		"too many in an hour":  {map[int]int{0: 200_000, 3: 200_000, 6: 200_000, 7: 1}, time.Hour},
		"too many at one time": {map[int]int{0: 600_000, 1: 1}, 10 * time.Minute},
	} {
		var a goneAges
		for step, n := range c.counts {
			a[step] = n
		}
		if got := a.keep(); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

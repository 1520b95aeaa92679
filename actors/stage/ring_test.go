package stage

import (
	"testing"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
)

func TestRingAgainstASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring[int]
		var model []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					next++
					r.push(next)
					model = append(model, next)
				}
			},
			"pushFront": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					next++
					r.pushFront(next)
					model = append([]int{next}, model...)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 120).Draw(t, "n") {
					v, ok := r.pop()
					if ok != (len(model) > 0) {
						t.Fatalf("pop is %v with %d left", ok, len(model))
					}
					if !ok {
						return
					}
					if v != model[0] {
						t.Fatalf("popped %d, want %d", v, model[0])
					}
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if r.len() != len(model) {
					t.Fatalf("length %d, want %d", r.len(), len(model))
				}
				if n := len(r.buf); n&(n-1) != 0 || n < r.len() {
					t.Fatalf("capacity %d for %d", n, r.len())
				}
				if len(model) == 0 && len(r.buf) > ringKeepMax {
					t.Fatalf("an empty ring keeps %d entries", len(r.buf))
				}
			},
		})
	})
}

func TestRingFreesPoppedEntries(t *testing.T) {
	var r ring[*int]
	for range 10 {
		r.push(new(int))
	}
	for range 10 {
		r.pop()
	}
	for i, p := range r.buf {
		if p != nil {
			t.Errorf("entry %d is still held", i)
		}
	}
}

func TestRingKeepsMemoryForASteadyStream(t *testing.T) {
	var r ring[int]
	burst := func() {
		for i := range ringKeepMax {
			r.push(i)
		}
		for range ringKeepMax {
			r.pop()
		}
	}
	assert.Equal(t, "allocations per burst", testing.AllocsPerRun(100, burst), 0)
	for i := range 10 * ringKeepMax {
		r.push(i)
	}
	for range 10 * ringKeepMax {
		r.pop()
	}
	if r.buf != nil {
		t.Errorf("a large burst left %d entries", len(r.buf))
	}
}

package internal_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/transport/internal/list"
)

// A list behaves like a slice, whatever is added and removed.
func TestListIsLikeASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l, other list.List[int]
		links := make([]list.Link[int], 8)
		var want []int
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			n := rapid.IntRange(0, len(links)-1).Draw(t, "element")
			if i := slices.Index(want, n); i >= 0 {
				other.Remove(&links[n]) // it is not in that list
				l.Remove(&links[n])
				want = slices.Delete(want, i, i+1)
			} else {
				l.Remove(&links[n])
				l.Add(&links[n], n)
				want = append(want, n)
			}
			first := 0
			if len(want) > 0 {
				first = want[0]
			}
			if got := slices.Collect(l.All()); !slices.Equal(got, want) || l.First() != first {
				t.Fatalf("%v, first %d, want %v", got, l.First(), want)
			}
		}
		for n := range l.All() {
			l.Remove(&links[n])
		}
		if got := slices.Collect(l.All()); got != nil {
			t.Fatalf("%v is left", got)
		}
	})
}

package search

import (
	"testing"
	"unicode/utf8"
)

// If a filter cannot be parsed, the error must contain a position within the filter.
func FuzzFilter(f *testing.F) {
	for _, v := range filterVectors {
		f.Add(v.filter)
	}
	games := five()
	f.Fuzz(func(t *testing.T, expression string) {
		first, err := ParseFilter(expression)
		if err != nil {
			inside(t, expression, err)
			return
		}
		for _, g := range games {
			first.Matches(g, g.CurrentPlayers)
		}
	})
}

func FuzzSort(f *testing.F) {
	for _, v := range sortVectors {
		f.Add(v.sort)
	}
	games := five()
	f.Fuzz(func(t *testing.T, expression string) {
		first, err := ParseSort(expression)
		if err != nil {
			inside(t, expression, err)
			return
		}
		if all := ids(first.First(9, each(games), nil, nil)); len(all) != 14 {
			t.Fatalf("%q: %s", expression, all)
		}
	})
}

func inside(t *testing.T, expression string, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Position < 1 || e.Position > utf8.RuneCountInString(expression)+1 || e.Text == "" {
		t.Fatalf("%q: %v", expression, err)
	}
}

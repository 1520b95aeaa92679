package search

import (
	"testing"
	"unicode/utf8"
)

// A filter that parses can be printed, and the printed filter means the same. The error of one
// that does not parse names a position within it.
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
		printed := first.String()
		if utf8.RuneCountInString(printed) > LengthMax {
			return
		}
		second, err := ParseFilter(printed)
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", expression, printed, err)
		}
		if again := second.String(); again != printed {
			t.Fatalf("%q is printed as %q, and that as %q", expression, printed, again)
		}
		for _, g := range games {
			if first.Matches(g, g.CurrentPlayers) != second.Matches(g, g.CurrentPlayers) {
				t.Fatalf("%q and %q differ for %s", expression, printed, g.ID)
			}
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
		second, err := ParseSort(first.String())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", expression, first, err)
		}
		if a, b := ids(first.First(9, each(games), nil, nil)), ids(second.First(9, each(games), nil, nil)); a != b || len(a) != 14 {
			t.Fatalf("%q: %s, %q: %s", expression, a, second, b)
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

package report

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []float64
		want Spread
	}{
		"none":    {nil, Spread{}},
		"one":     {[]float64{2}, Spread{2, 2, 2}},
		"odd":     {[]float64{3, 1, 2}, Spread{2, 1, 3}},
		"even":    {[]float64{4, 1, 2, 3}, Spread{2.5, 1, 4}},
		"unknown": {[]float64{1, math.NaN()}, Spread{-1, -1, -1}},
	} {
		if got := SpreadOf(c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if SpreadOf([]float64{math.NaN()}).Known() {
		t.Error("unknown is known")
	}
}

func TestWithoutFolders(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"10s":                          "10s",
		"/some/where/bin/troupe":       "troupe",
		"script=/some/game.js a.b=5ms": "script=game.js a.b=5ms",
	} {
		if got := withoutFolders(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

package result

import (
	"fmt"
	"slices"
)

// Spread is the median, the minimum and the maximum of a few measured values.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf summarises values. For no values it returns the zero Spread.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	mid := v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + mid) / 2
	}
	return Spread{Median: mid, Min: v[0], Max: v[len(v)-1]}
}

// Format formats the spread as "median (min..max)", or as the median alone if minimum and maximum look the same.
func (s Spread) Format(digits int) string {
	middle := fmt.Sprintf("%.*f", digits, s.Median)
	low, high := fmt.Sprintf("%.*f", digits, s.Min), fmt.Sprintf("%.*f", digits, s.Max)
	if low == high {
		return middle
	}
	return fmt.Sprintf("%s (%s..%s)", middle, low, high)
}

package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Spread is the middle and the ends of a few measured values.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf summarises values; of none it is all zero. An unknown (NaN) among them makes all unknown, written as -1.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return Spread{Median: -1, Min: -1, Max: -1}
	}
	v := slices.Sorted(slices.Values(values))
	mid := v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + mid) / 2
	}
	return Spread{Median: mid, Min: v[0], Max: v[len(v)-1]}
}

// Known is false for a value that could not be measured.
func (s Spread) Known() bool { return s.Median >= 0 }

// Format prints "median (min..max)".
func (s Spread) Format(digits int) string {
	if !s.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%.*f (%.*f..%.*f)", digits, s.Median, digits, s.Min, digits, s.Max)
}

// Bar is one requirement and whether it is met.
type Bar struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"`
	Got   float64 `json:"got"`
	Met   bool    `json:"met"`
}

// String says it in one line.
func (b Bar) String() string {
	verdict := "ok    "
	if !b.Met {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s %s: %.4g, bar %.4g", verdict, b.Name, b.Got, b.Limit)
}

// CommandLine is the command with every flag, so that a stored result can be repeated; of paths only the last part.
func CommandLine(name string, flags *flag.FlagSet) string {
	words := []string{name}
	flags.VisitAll(func(f *flag.Flag) {
		if v := f.Value.String(); v != "" {
			words = append(words, "--"+f.Name+"="+withoutFolders(v))
		}
	})
	return strings.Join(words, " ")
}

// withoutFolders cuts the folders off a path, a KEY=path, or several of them.
func withoutFolders(value string) string {
	words := strings.Fields(value)
	for i, w := range words {
		at := strings.LastIndexByte(w, '=') + 1
		words[i] = w[:at] + filepath.Base(w[at:])
	}
	return strings.Join(words, " ")
}

// WriteJSON stores a result.
func WriteJSON(path string, result any) error {
	b, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("store result: %w", err)
	}
	return nil
}

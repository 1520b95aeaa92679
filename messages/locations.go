package messages

import (
	"strings"
	"time"
)

// Location is a place where fleets host: one of the configuration, which this host
// stands for, or a custom one. Immutable.
type Location struct {
	Name            string
	GameSessionsMax int     // at a time, of all fleets together; 0: no bound
	Cost            float64 // per hour, of a fleet that says nothing itself
	Created         time.Time
	Tags            map[string]string
}

// CustomLocation reports whether a location is one that the API makes.
func CustomLocation(name string) bool { return strings.HasPrefix(name, "custom-") }

// Groups says how many process groups a fleet has in one location. A group is what
// the API calls an instance: each runs the whole runtime configuration.
type Groups struct{ Desired, Min, Max int }

// GroupsIn returns the process groups of a fleet in a location: one, where nobody
// has said otherwise.
func (f *Fleet) GroupsIn(location string) Groups {
	if g, ok := f.Groups[location]; ok {
		return g
	}
	return Groups{Desired: 1, Min: 0, Max: 1}
}

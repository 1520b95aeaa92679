package messages

import (
	"strings"
	"time"
)

// Location is where fleets run: from the configuration, which this host serves, or custom. Immutable.
type Location struct {
	Name            string
	GameSessionsMax int     // at a time, of all fleets together; 0: no bound
	Cost            float64 // per hour, of fleets without a cost of their own
	Created         time.Time
	Tags            map[string]string
}

// CustomLocation reports whether a location was created through the API.
func CustomLocation(name string) bool { return strings.HasPrefix(name, "custom-") }

// Groups counts a fleet's process groups in a location, the API's instances: each runs the whole runtime configuration.
type Groups struct{ Desired, Min, Max int }

// GroupsIn returns the process groups of a fleet in a location; one group by default.
func (f *Fleet) GroupsIn(location string) Groups {
	if g, ok := f.Groups[location]; ok {
		return g
	}
	return Groups{Desired: 1, Min: 0, Max: 1}
}

// CreateLocation makes a custom location. A name that is taken is Conflict.
type CreateLocation struct {
	ToCatalog[Location]
	Location Location
}

// DeleteLocation deletes a custom location. One that a fleet uses is InvalidRequest.
type DeleteLocation struct {
	ToCatalog[None]
	Name string
}

// LocationQuery asks for all locations, by name.
type LocationQuery struct{ ToCatalog[[]Location] }

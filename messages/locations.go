package messages

import (
	"strings"
	"time"
)

// Location is a place where fleets run. It is either configured, in which case this host serves it, or custom. It is
// immutable.
type Location struct {
	Name            string
	GameSessionsMax int     // maximum number of concurrent game sessions of all fleets together; 0 means no limit
	Cost            float64 // cost per hour of fleets without their own cost
	Created         time.Time
	Tags            map[string]string
	Call            string `json:",omitempty"` // see WithID
}

// CustomLocation reports whether a location with this name was created through the API.
func CustomLocation(name string) bool { return strings.HasPrefix(name, "custom-") }

// Groups holds the numbers of a fleet's process groups in a location. Process groups correspond to the API's instances.
// Each group runs the whole runtime configuration.
type Groups struct{ Desired, Min, Max int }

// GroupsIn returns the numbers of a fleet's process groups in a location. The default is one group.
func (f *Fleet) GroupsIn(location string) Groups {
	if g, ok := f.Groups[location]; ok {
		return g
	}
	return Groups{Desired: 1, Min: 0, Max: 1}
}

// CreateLocation creates a custom location. The error is Conflict if the name is taken.
type CreateLocation struct {
	ToCatalog[Location]
	Location Location
}

// DeleteLocation deletes a custom location. The error is InvalidRequest if a fleet uses the location.
type DeleteLocation struct {
	ToCatalog[None]
	Name string
}

// LocationQuery requests all locations, sorted by name.
type LocationQuery struct{ ToCatalog[[]Location] }

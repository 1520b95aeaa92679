package fleet

import (
	"slices"

	"troupe/messages"
)

// unknownLocation returns the first location that is neither configured nor custom, ""
// if there is none.
func (r *Registry) unknownLocation(names []string) string {
	i := slices.IndexFunc(names, func(name string) bool {
		_, known := r.locations[name]
		return !known && !messages.CustomLocation(name)
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

func noLocation(name string) error {
	return messages.Errorf(messages.InvalidRequest, "this host has no location %s", name)
}

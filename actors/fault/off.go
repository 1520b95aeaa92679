//go:build !faults

package fault

// Enabled says whether the binary has failpoints.
const Enabled = false

// Hit is false: there are no failpoints.
func Hit(string) bool { return false }

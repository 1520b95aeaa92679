//go:build !faults

package fault

// Enabled says whether the binary has failpoints.
const Enabled = false

// Hit returns false, because there are no failpoints.
func Hit(string) bool { return false }

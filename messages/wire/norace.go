//go:build !race

package wire

// raceEnabled says whether this is a race build. Race builds overwrite released frames, and they do not guarantee zero
// allocations.
const raceEnabled = false

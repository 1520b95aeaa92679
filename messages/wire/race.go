//go:build race

package wire

// raceEnabled is for race builds: they overwrite released frames, and do not promise zero allocations.
const raceEnabled = true

//go:build !race

package wire

// raceEnabled tells race builds apart: they make released frames unreadable,
// which costs a write of the whole frame, and cannot promise zero allocations.
const raceEnabled = false

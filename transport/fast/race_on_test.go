//go:build race

package fast

// raceEnabled tells tests that the race detector allocates and slows down.
const raceEnabled = true

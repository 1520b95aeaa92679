//go:build !race

package client

// raceEnabled tells tests that the race detector allocates and slows down.
const raceEnabled = false

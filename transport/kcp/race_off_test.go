//go:build !race

package kcp

// raceEnabled tells tests that the race detector allocates and slows down.
const raceEnabled = false

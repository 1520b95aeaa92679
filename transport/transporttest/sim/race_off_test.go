//go:build !race

package sim

// raceOn says whether the race detector is on. It slows long tests down several times. make test runs them
// completely without the race detector, and partially with it.
const raceOn = false

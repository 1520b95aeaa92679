//go:build !race

package js

// raceOn is true if the race detector is on. Tests then take several times as long, so long tests run only
// partially.
const raceOn = false

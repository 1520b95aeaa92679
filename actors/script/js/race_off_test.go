//go:build !race

package js

// raceOn is true if the race detector makes tests several times as long. Long tests do only a part then.
const raceOn = false

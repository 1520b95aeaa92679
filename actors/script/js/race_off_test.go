//go:build !race

package js

// raceOn tells long tests that the race detector makes them several times as long. make test
// runs them whole without it, and a part of them with it.
const raceOn = false

//go:build race

package placement

const raceOn = true

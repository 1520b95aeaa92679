//go:build race

package player

const raceOn = true

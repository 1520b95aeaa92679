//go:build race

package js

const raceOn = true

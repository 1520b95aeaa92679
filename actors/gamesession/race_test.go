//go:build race

package gamesession_test

const raceEnabled = true

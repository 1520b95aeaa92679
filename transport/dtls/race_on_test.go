//go:build race

package dtls

const raceEnabled = true

//go:build race

package kcp

const raceEnabled = true

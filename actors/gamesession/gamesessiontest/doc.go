// Package gamesessiontest has what tests of several packages need of game sessions: the settings that a host has by
// default, which a test changes before it starts one. It starts nothing itself. For tests only.
package gamesessiontest

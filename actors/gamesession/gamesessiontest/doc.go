// Package gamesessiontest holds the default settings of game sessions for the tests of several packages. A test changes
// them before it starts a game session. The package starts nothing itself. For tests only.
package gamesessiontest

// Package gamesessiontest has what tests of game sessions share.
package gamesessiontest

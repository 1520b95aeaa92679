// Package openset holds the open connections of a listener. It can close them all, count
// them, and wait until none is left. The listener adds a connection when it opens and
// removes it when it has ended. The set does not use sockets and starts no goroutine.
package openset

// Package openset holds the open connections of a listener: it closes them all, counts
// them, and waits until none is left. The listener adds a connection when it opens and
// removes it when it has ended. The set knows nothing of sockets and starts no goroutine.
package openset

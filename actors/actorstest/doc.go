// Package actorstest runs the whole tree of actors in memory and in virtual time. A World is a System inside a
// testing/synctest bubble. Its connections are lists instead of sockets, and the test writes the game's callbacks. At
// the end of every World all frames must have been released, all gauges must be zero, and no actor may be left. For
// tests only.
package actorstest

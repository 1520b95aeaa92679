// Package actorstest runs the whole tree of actors in memory, in virtual time:
// a World is a System inside a testing/synctest bubble, with connections that
// are lists instead of sockets and a game whose callbacks a test writes. At the
// end of every World all frames must have come back, all gauges stand at zero,
// and no actor is left. For tests only.
package actorstest

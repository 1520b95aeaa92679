// Package hosttest starts complete hosts for tests, on an in-memory network (package memnet). In a
// testing/synctest bubble, a host, its players and its callers share one virtual time, so a test can assert
// exact times without real waiting. Hosts can also run outside of bubbles, in real time, for games whose
// scripts run in Node.js processes. The store of a host is in memory, unless the test configures a path.
package hosttest

// Package server starts a server under test as a child process, prepares rooms in it, measures it from outside through
// /proc, and ends it by its process id.
//
// Two kinds are known: the bare relay of bench/barerelay, and the troupe host. The differences (flags, how a room is made,
// where the counters are) stay inside this package, so that a workload treats both alike. It measures on Linux only, and
// it never forces anything inside the server, such as a garbage collection.
package server

// Package server starts a server under test as a child process, prepares rooms in it, measures it from outside through
// /proc, and stops it by its process id. It can also attach to a host that is already running.
//
// There are two kinds of server: the bare relay of bench/barerelay (and peers with the same flags), and the troupe
// host. A third kind of process is a member of etcd, which the hosts of a cluster share. This package hides their differences, such as flags, how a room is created and where the counters are, so that
// a workload treats all servers alike. It measures on Linux only. It never forces anything inside the server, such as a
// garbage collection.
package server

// Package node runs a script in a child process of Node.js, one per game session. It is for scripts that need
// more of Node.js than the embedded engine has, and for scripts whose memory and time must be limited from
// outside. A Program holds the unpacked files of one version. Its Handler communicates with the child over
// two pipes (frame.go). The JavaScript API is that of package realtime, as in the embedded engine; shim.js
// only transports its calls.
//
// A child has its own process group and environment, and is killed with its game session. A child that does
// not respond, or exceeds its limits, is killed too. Processes that a script starts are killed with it; on
// Linux this includes those that have left its process group. If the host is killed, the kernel kills the
// children. The next host that uses the same directory (Options.Dir) kills the processes that those children
// have started.
//
// This confines the faults of a script to its game session. It is not a sandbox for malicious scripts:
// without a separate user (Options.UID), a script may do whatever the host's user may do.
package node

// Package node runs scripts in child processes of Node.js. It is for scripts that need more of Node.js than
// the embedded engine has, or that compute much, and for scripts whose memory and time must be limited from
// outside. A Program holds the unpacked files of one version, and its processes. Its Handlers communicate with
// a child over two pipes (frame.go). The JavaScript API is that of package realtime, as in the embedded
// engine; shim.js only transports its calls.
//
// A child has one game session, which has all of Node.js (own.js), or several, if the script's package.json
// says so (bundle.Bundle.GamesPerProcess). Then each has its own context (contexts.js), and the process is what
// fails: if it ends, they all end as crashed.
//
// A child has its own process group and environment, and is killed with its last game session. A child that does
// not respond, or exceeds its limits, is killed too. Processes that a script starts are killed with it; on
// Linux this includes those that have left its process group. If the host is killed, the kernel kills the
// children. The next host that uses the same directory (Options.Dir) kills the processes that those children
// have started.
//
// This confines the faults of a script to the game sessions of its process. It is not a sandbox for malicious scripts:
// without a separate user (Options.UID), a script may do whatever the host's user may do.
package node

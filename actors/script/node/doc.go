// Package node runs a script in a child process of Node.js, one per game session: for scripts that need more of Node than the embedded
// engine has, and for scripts whose memory and time must be bounded from outside. A Program holds the unpacked files of one version; its
// Handler speaks to the child over two pipes (frame.go). What the JavaScript sees is package realtime's, as in the embedded engine; shim.js
// only carries it.
//
// A child has a process group and an environment of its own, and is killed with its game session. Who does not answer, or takes more than
// it may, is killed too. What a script starts ends with it, on Linux even what has left its process group. If the host is killed, the
// system ends its children; the next host on the same folder (Options.Dir) ends what those have started.
//
// This keeps a script's faults in its game session. It is no prison for a script that means harm: without a user of its own (Options.UID) it may do
// what the host's user may.
package node

// Package serverprocess decides on the life of a process that speaks the Server SDK (server-sdk.md 9 to 12).
//
// A Machine is a process as the host knows it, whoever has started it and whichever connection it uses. It is pure: each
// method gets the time, changes the Machine and returns the Effects that its owner carries out, in order.
//
//	Connected -> Ready -> Hosting -> Terminating -> Terminated
//
// The owner calls Tick when Due has passed. Record is what the owner stores before it answers; Restore makes a Machine
// of it after a restart of the host, with new allowances for its health.
//
// A Machine is used by one goroutine, the actor of its process. It does not know player sessions: those belong to the
// game session.
package serverprocess

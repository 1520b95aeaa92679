// Package launch starts the game servers of fleets that name an executable (server-sdk.md 24).
//
// A Launcher has a pool of processes for each location of such a fleet. A pool is pure: it decides what to start and what
// to end, and when. The Launcher carries that out: it gets a token, starts a child (actors/child) with the variables that
// the Server SDK reads, and reads its output.
//
// What a process does at the endpoint is decided elsewhere (actors/serverprocess): the owner of the processes reports it
// with Report, and a Launcher tells the owner about ends and about processes that should end. It does so by messages that
// are values; nothing here waits for the owner.
//
//	started -> connected -> ready -> hosting        as reported; ended if it does not connect in time
//	   any  -> leaving                              it has said that it ends: ended if it does not
//	   any  -> asked -> stopping -> killed -> gone  TerminateProcess, SIGTERM, SIGKILL
//
// A process has ended when all that it has started has. One that ends before it is ready, or soon after its start without
// a game session, is a failure: the next one starts after a pause that grows, and alone. The processes of a host end with
// it. When it is killed, Linux kills them, and the next Launcher ends what they have started before it starts anything;
// other systems kill nothing.
package launch

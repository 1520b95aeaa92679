// Package hosting runs the server processes of fleets with scripts: it loads scripts as programs, keeps stand-by
// processes ready, proves a new version before game sessions get it, and gives each game session its process.
//
//	catalog: Configure, Reload -> load -> program (next) -> stand-by process is ready -> current
//	                                  '-> it does not load, or does not start: what ran before goes on
//	games:   Free -> Start (a stand-by process, or a new one) -> Occupy 1 ... Occupy -1 -> Release
//
// A process configuration (ProcessConfig) is an entry of a fleet's runtime configuration. A failed
// start is retried after a pause that doubles. A version that could not be stopped once, or in which
// the process before this one crashed, is not started again until an update gives it again (trials).
//
// A Hosting starts goroutines only to load and close programs. It belongs to the fleet actor, which calls
// it and passes it messages (Receive). It reads scripts through Catalog and reports to its Listener. It
// knows the fleets that it was given, no other resource and no game session. A panic ends the host.
package hosting

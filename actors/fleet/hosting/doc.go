// Package hosting runs the server processes of fleets with scripts: it loads versions of scripts as
// programs, keeps stand-by processes ready, proves a new version before game sessions get it, and
// gives each game session its process.
//
//	catalog: Configure, Reload -> load -> program (next) -> stand-by process is ready -> current
//	                                  '-> it does not load, or does not start: what ran before goes on
//	games:   Free -> Start (a stand-by process, or a new one) -> Occupy ... Vacate -> Release
//
// A process configuration (ProcessConfig) is one entry of a fleet's runtime configuration. A failed
// start is retried after a pause that doubles; a version that could not be stopped once is not
// started again.
//
// A Hosting has no goroutine of its own, but for loads and closes of programs. It belongs to the
// fleet actor, which calls its methods and hands it every message that is its own (Receive). It
// reads scripts through Catalog and tells its Listener what happens. It knows the records of fleets
// that it was given, no other resource, and no game session. A crash ends the host, as the
// fleet actor's does.
package hosting

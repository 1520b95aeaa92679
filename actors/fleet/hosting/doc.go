// Package hosting runs the server processes of fleets with scripts. It loads scripts as programs, keeps stand-by
// processes ready, tests a new version before game sessions get it, and gives each game session its process.
//
//	catalog: Configure, Reload -> load -> program (next) -> stand-by process is ready -> current
//	                                  '-> it does not load or start: the previous program stays current
//	games:   Free -> Start (a stand-by process, or a new one) -> Occupy 1 ... Occupy -1 -> Release
//
// A process configuration (ProcessConfig) is an entry of a fleet's runtime configuration. A failed start is retried
// after a pause that doubles each time. Some versions are not started again until an update gives them again: a version
// of which a process could not be stopped, and a version in which the previous process of the host crashed (trials).
//
// A Hosting starts goroutines only to load and close programs. It belongs to the fleet actor, which calls it and
// forwards messages to it (Receive). It reads scripts through Catalog and reports to its Listener. It knows the fleets
// that were configured in it, but no other resources and no game sessions. A panic ends the host.
package hosting

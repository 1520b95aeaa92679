// Package host assembles one Troupe host: the tree of actors, the listeners, the
// gateway between them, the service API and the operator's pages. Config holds
// everything that an operator can configure, with defaults and checks. Host starts,
// drains and stops.
//
// A game written in Go uses it to build its own binary: fill a Config, set NewHandler,
// call Start. The package handles no signals, flags or environment variables, and does
// not read the configuration file; cmd/troupe does.
//
// Where is:
//
//	config.go, validate.go           the configuration; the checks of a subject are in its file
//	host.go, drain.go                start and stop, drain
//	actors.go, limits.go             settings of actors and game sessions; rate limits of players
//	listeners.go, tls.go, address.go sockets for players, certificates, advertised addresses
//	api.go, apiauth.go, apiconns.go  the service API: assembly, access keys, limits on connections
//	pageguard.go, secrets.go         access to the operator's pages; secrets in files
//	web.go, devjoin.go               the client for browsers, and seats for pages in development
//	events.go                        destinations of events, and the event stream
//	fleets.go, queues.go, scripts.go resources of the configuration; loading and engines of scripts
//	store.go, gamelogs.go            the store, logs of game sessions
//	memory.go, gctrigger.go          the memory limit; garbage collection after load
package host

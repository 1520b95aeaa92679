// Package sim runs a whole host in one testing/synctest bubble, in virtual time:
// the tree of actors, the gateway, a WebSocket listener and a socket for KCP in DTLS
// over package memnet, with players of its own that lose their connections in every way
// that a seed thinks of, and in some plans with callers of the service API. It has tests only; nothing imports it.
//
// It puts the host together itself, and not by package hosttest: the options of package host have no place for a store that fails and
// dies without the process (RL-18) nor for a wall clock that is set (RL-117), and should not get one for tests alone.
//
// # Seeds
//
// One seed gives one plan: settings, players, paths, and what happens when. A seed
// does not give one run: goroutines interleave as the scheduler likes, and the
// host's own ids are random, so that a rare failure may need its seed several
// times. A failing seed prints itself, its plan and the last events; -sim.seed=N
// runs it alone, -sim.seeds=N runs that many, -sim.first=N sets the first.
//
// A run has two phases: faults at random (safety), then everything is healed and
// all players that still have a player session must be back within 10 s, with
// nothing left to deliver (liveness, RL-29).
//
// In some plans callers create game sessions, reserve seats, place and terminate, on a disk that
// fails for a while. In half of these the process dies at a failpoint of the store. Then another
// process starts with what was durable (service_test.go, disk_test.go).
//
// # Players
//
// They are written from the specification: a WebSocket client in one file, the
// extension in another, on the codec of package stock and nothing of the server's.
// A stock player knows its player session id and answers pings; a mute one answers
// them without their payload; a v2 player numbers, acknowledges and resumes. In half of
// the plans each connection of a v2 player is a WebSocket or KCP, so that players move
// from one to the other; KCP and DTLS are those of Troupe's client. A v2 player also gives up
// logins that are on the way, and the host may handle them after the next one. In one of eight
// plans the host is in strict mode, and everybody is a stock player.
//
// # Oracles
//
// The game of every game session is a script.Handler whose gates see each message
// in the order in which it is routed, and write down for each player what it must
// receive. What a player then gets is compared with that list when it arrives:
// each entry once and in order. The checks carry the numbers of the invariants of
// the specification (RL-1 to RL-21). What callers of the service API were answered must be there, also
// after a restart; what was refused must not be there.
package sim

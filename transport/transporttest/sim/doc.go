// Package sim runs a complete host in one testing/synctest bubble, in virtual time. The host has the tree of
// actors, the gateway, a WebSocket listener and a socket for KCP in DTLS, over package memnet. Players of the
// package lose their connections in many ways, which a seed determines. In some plans there are also callers
// of the service API. The package has only tests; nothing imports it.
//
// It assembles the host itself, without package hosttest. It needs a store that fails and dies without the
// process (RL-18), and a wall clock that is set (RL-117). The options of package host have neither, and
// should not get them for tests only.
//
// # Seeds
//
// A seed determines a plan: settings, players, paths, and what happens when. It does not determine a run: the
// scheduler interleaves goroutines freely, and the host's own ids are random. So a rare failure may need
// several runs with its seed. A failing run prints its seed, its plan and the last events. -sim.seed=N runs
// one seed, -sim.seeds=N sets the number of seeds, and -sim.first=N sets the first.
//
// A run has two phases. First there are random faults (safety). Then all faults end, and all players that
// still have a player session must be back within 10 s, with nothing left to deliver (liveness, RL-29).
//
// In some plans, callers create game sessions, reserve player sessions, start placements and terminate game
// sessions, on a disk that fails for a while. In half of these plans, the process dies at a failpoint of the
// store. Then another process starts with the durable data (service_test.go, disk_test.go).
//
// # Players
//
// The players are written from the specification: a WebSocket client in one file and the extension in
// another, on the codec of package stock, without code of the server. A stock player knows its player session
// id and answers pings. A mute player answers pings without their payload. A v2 player numbers, acknowledges
// and resumes. In half of the plans, each connection of a v2 player is either a WebSocket or KCP, so players
// switch between both. KCP and DTLS are those of Troupe's client. A v2 player also abandons logins in
// transit, and the host may handle them after the next login. In one of eight plans, the host is in strict
// mode, and all players are stock players.
//
// # Oracles
//
// The game of every game session is a script.Handler. It sees each message in the order of routing, and
// records for each player what the player must receive. When something arrives at a player, it is compared
// with that list: each entry must arrive once and in order. The checks have the numbers of the
// specification's invariants (RL-1 to RL-21). Whatever the service API has acknowledged to a caller must
// exist, also after a restart. What it has refused must not exist.
package sim

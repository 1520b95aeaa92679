// Package faults runs `troupe faults`: players of a game session play through proxies that break their networks by a plan, and a
// checker says which promises of the host held.
//
// # Parts
//
//	plan.go      fault plans, the named scenarios of plans/, and how a seed turns a plan into events with exact times and targets
//	parse.go     plans as YAML, with the line of what is wrong
//	path.go      a player's way to the host: the conditions of each direction, which change while it is used
//	lane.go      packets of one direction: lost, delayed, repeated
//	tcp.go       the proxy for ws and wss
//	udp.go       the proxy for kcp
//	players.go   players with Troupe's client, who send numbered messages to all
//	checker.go   what one player received, held against what was sent
//	verdict.go   the promises, judged
//	expect.go    the promises of the game's own script
//	timeline.go  what happened when
//	report.go    the page; its look and the functions that draw are those of bench/page
//	crash.go     the promises of a host that was killed and started again
//	host.go      the host, if it is started here
//	process.go   faults of the host's process, and a script that hangs
//	calls.go     calls of the API while the host's disk is broken; the disk itself is in disk
//	schedule.go  faults begin and end at their times
//	proxy.go     proxies for clients of any kind
//	run.go       a run from start to verdict
//	kills.go     a host that is killed under load, at the failpoints of its store; tickets.go has its tickets
//
// # What the proxies can do
//
// They need no rights, because each player connects to proxies of its own on loopback. Over UDP, datagrams are dropped, delayed and
// reordered. A TCP proxy cannot drop a packet: the kernel has acknowledged the bytes already. A lost packet is a pause of 200 ms, as long
// as the kernel waits before it sends again; silence holds the bytes, which arrive when it is over. A new source port is forgotten state
// in a NAT: a TCP connection stays silent for good, and a UDP association goes on from another port.
//
// Plain UDP beside ws (the fast channel of the official clients) goes to an address that the host chooses in its answer to the login, so it
// would pass the proxies by. Players over ws therefore send fast messages by the reliable channel. Over kcp they are datagrams.
//
// # Seeds
//
// The seed determines the events: their times, targets, lengths. Proxies also draw from it which packets are lost and how long they are
// delayed; that depends on the order of the packets as well, which no run repeats.
package faults

// Package faults runs `troupe faults`. Players of a game session play through proxies that break their networks
// according to a plan. A checker then reports which promises of the host were kept.
//
// # Parts
//
//	plan.go      fault plans, the named scenarios in plans/, and how a seed turns a plan into events with exact times and targets
//	parse.go     parses plans from YAML; errors give the line
//	path.go      a player's path to the host: the network conditions of each direction, which may change while the path is in use
//	lane.go      packets of one direction: dropped, delayed, duplicated
//	tcp.go       the proxy for ws and wss
//	udp.go       the proxy for kcp
//	players.go   players that use Troupe's client and send numbered messages to all players
//	checker.go   compares what one player received with what was sent
//	verdict.go   judges the promises
//	expect.go    the promises of the game's own script
//	timeline.go  what happened when
//	report.go    the report page; styles and drawing functions are in bench/page
//	crash.go     the promises about a host that was killed and restarted
//	host.go      starts the host, if it is not a remote one
//	process.go   faults of the host's process, and a script that hangs
//	calls.go     API calls while the host's disk is broken; the disk itself is in package disk
//	schedule.go  begins and ends the faults on time
//	proxy.go     proxies for clients of any kind
//	run.go       a run from start to verdict
//	kills.go     a host that is killed under load, at the failpoints of its store; its tickets are in tickets.go
//	cluster.go   hosts and members of etcd that are one cluster, and their faults; clusterplay.go plays and watches,
//	             clusterload.go calls the API, clusterjudge.go judges, pairs_linux.go has the paths between hosts
//
// # What the proxies can do
//
// The proxies need no privileges, because each player connects to its own proxies on loopback. Over UDP, datagrams are
// dropped, delayed and reordered. A TCP proxy cannot drop a packet, because the kernel has already acknowledged the
// bytes. Instead, a lost packet is a pause of 200 ms, as long as the kernel waits before it retransmits. Silence holds
// the bytes back and delivers them when it is over. A new source port simulates a NAT that has lost its state: a TCP
// connection stays silent forever, and a UDP association continues from another port.
//
// With ws, the fast channel of the official clients is plain UDP. The host announces its address in the answer to the
// login, so this traffic would bypass the proxies. Players over ws therefore send fast messages by the reliable
// channel. Over kcp, fast messages are datagrams.
//
// # Seeds
//
// The seed determines the events: their times, targets and lengths. The proxies also use it to choose which packets are
// lost and how long packets are delayed. Those choices also depend on the order of the packets, which differs from run
// to run.
package faults

// Package bench says how the benchmark numbers are made. `troupe bench` runs the workloads of bench/suite: it compares the host with the
// bare relay of bench/barerelay on one machine, over loopback, or measures a host that runs already. bench/loadgen plays the clients,
// bench/server starts and measures the servers, bench/result judges, prints, plots and stores, bench/peers speaks the protocols of other
// servers. bench/faults is `troupe faults`, which asks what is lost when networks, disks and hosts break. JOURNAL.md has what was tried
// for speed. Only cmd/troupe uses bench.
//
// # CPU, allocations, latency, memory
//
// CPU is user and system time of the server process and of those that it started (/proc/PID/stat, steps of 10 ms) over the measured part,
// divided by the messages that the clients received in it. The server's own counters, which are expensive to read, are read outside of it.
// The kernel charges work on loopback to the sender: the server's figure holds the delivery into the client's socket, the client's
// figure that into the server's.
//
// A ratio to bare is taken round by round; the goal is judged by the median. Every second round has the opposite order. The table warns
// when other programs used more than 5 % of the machine. Figures prove nothing, and no goal is judged by them, if the generator was more
// than 5 ms late (p99) and latencies are not at least four times that, or if it sent less than 99 % of what was due.
//
// Allocations are heap objects of the server process over the measured part (tiny ones included), less those of reading the counter once.
// The host's counter is /debug/runtime: /metrics answers what it gathered within the last second, so two reads in a row say nothing.
// The host keeps what stock players have not confirmed, which they do with every ping: its pools grow until then, so the warm-up is longer.
//
// Latency counts from the intended send time of a message, which it carries, to the moment a client has read it. A server that falls behind
// does not slow the load down (see bench/loadgen). Delivered of expected counts by intended time too, after a few seconds for stragglers.
//
// Memory is VmRSS of the server with N players logged in and idle for a while, less VmRSS before the first of them, divided by N. Nothing
// is forced inside the server: it is what an operator would see. Socket buffers belong to the kernel and are in nobody's VmRSS.
//
// # Reconnection
//
// reconnect-single and reconnect-storm cut players of Troupe's client, by a TCP reset or without a word over KCP. The time to reconnect is
// from the cut to the answer to the login; "all back" is from the first cut to the last answer. Lost and duplicated are by the numbers in
// the messages, per sender and receiver, when nothing more arrives. What acknowledgements cost (acks-*) is the CPU per delivered
// message of one build with them and with reconnect.acknowledge=false, in turns.
//
// # Scripts
//
// What a message costs more through a script is the difference of two hosts: one relays what a player sends to itself, the other returns
// it from onMessage. The hosts are well loaded: a half idle host spends most of a message's cost on waking up. In script-hostile
// other game sessions play while a hostile one runs, a new one whenever the host has ended it; their p99 is compared with that of a host
// without.
//
// # Service API
//
// The hosts have a store on the disk of the temporary folder. Calls are AWS JSON over up to 128 connections; they begin at their times
// whether or not others have been answered, and latency counts from when a call was due. A placement is for two players with latencies
// and ends with its PlacementFulfilled on GET /events. A search is one call for a sorted page of 20, of a filter that one game
// session in 500 fits. A start lasts from the start of the process to its announcement, on a store of copies of what a killed host left.
// tickets and relay-matching begin when 20,000 tickets wait that do not fit together; the host searches them once per second.
//
// # What is not comparable
//
//   - The bare relay does less: no pings, limits, queue, login check, sender stamping, no order or loss guarantees, and one stuck reader
//     stops its room. It is a floor, not a competitor.
//   - Numbers of different machines, kernels, Go versions or core counts; compare ratios of one run.
//   - Rooms of other sizes or other rates: a message that reaches more players costs less per delivery.
//   - Latency here with latency over a network; memory with other connection counts.
package bench

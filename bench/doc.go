// Package bench documents how the benchmark numbers are measured. `troupe bench` runs the workloads of bench/suite. It
// either compares the host with the bare relay of bench/barerelay on one machine over loopback, or measures a host that
// is already running. bench/loadgen simulates the clients. bench/server starts and measures the servers. bench/result
// judges, prints, plots and stores the results. bench/peers implements the protocols of other servers. bench/faults
// implements `troupe faults`, which checks what is lost when networks, disks and hosts fail. bench/crowd simulates the
// nodes of a large cluster. JOURNAL.md records the performance experiments. Only cmd/troupe imports these packages.
//
// # CPU, allocations, latency, memory
//
// CPU is the user and system time of the server process and its child processes (/proc/PID/stat, in steps of 10 ms)
// over the measured part, divided by the number of messages that the clients received in it. The server's own counters
// are expensive to read, so they are read before and after the measured part. The kernel charges loopback work to the
// sender: the server's CPU includes delivery into the client's socket, and the client's CPU includes delivery into the
// server's socket.
//
// The ratio to the bare relay is computed for each round, and the goal is judged by the median. Every second round runs
// the two servers in reverse order. The table warns if other programs used more than 5 % of the machine. The figures
// are marked as invalid, and no goal is judged by them, in two cases: the generator was more than 5 ms late (p99) and
// the latencies are not at least four times as high, or it sent less than 99 % of the messages that were due.
//
// Allocations are the heap objects that the server process allocated over the measured part, including tiny ones, minus
// the allocations of one read of the counter. The host's counter is read from /debug/runtime, because /metrics caches
// its answer for one second and two reads in a row would return the same value. The host keeps messages that stock
// players have not confirmed; they confirm with every ping. Its pools grow until then, so the warm-up is longer.
//
// Latency is the time from the intended send time, which each message carries, until a client has read the message. A
// server that falls behind does not slow the load down (see bench/loadgen). Messages are counted as delivered or
// expected by their intended send time too. The run waits a few seconds for late messages.
//
// Memory is the VmRSS of the server with N players logged in and idle for a while, minus its VmRSS before the first
// login, divided by N. The measurement forces no garbage collection in the server: the figure is what an operator would
// see. Socket buffers belong to the kernel and are not part of VmRSS.
//
// # Reconnection
//
// reconnect-single and reconnect-storm cut the connections of players that use Troupe's client: by a TCP reset, or
// silently over KCP. The time to reconnect is from the cut to the answer to the login. "all back" is from the first cut
// to the last answer. Lost and duplicated messages are counted from sequence numbers in the messages, per sender and
// receiver, once no more messages arrive. The cost of acknowledgements (acks-*) is the difference in CPU per delivered
// message between acknowledgements on and off (reconnect.acknowledge=false). The same build runs both settings in
// alternation.
//
// # Scripts
//
// The cost of a script per message is the difference between two hosts: one relays each player's messages back to that
// player, the other returns them from onMessage. Both hosts are well loaded, because a half-idle host spends most of a
// message's cost on waking up. In script-hostile, ordinary game sessions run next to a hostile one. A new hostile
// session starts whenever the host has ended the previous one. The p99 of the ordinary sessions is compared with that
// of a host without a hostile session.
//
// # Game servers
//
// servers-* have processes of transport/sdkclient, which act as the SDK for Go does, in the generator; the host has a store on
// disk. Processes connect and become ready as fast as 128 at a time can. Memory is as above, with the processes in place of
// players; the CPU is that of their heartbeats. In servers-create, a call lasts until the process has read the push. In
// servers-restart, all are back when the last of them has connected again, counted from SIGKILL; the SDK tries at once, and
// then after 8, 24 and 56 s.
//
// # Service API
//
// The hosts have a store on disk, in the temporary folder. Calls are AWS JSON over up to 128 connections. Each call
// starts at its scheduled time whether or not earlier calls have been answered, and its latency counts from the
// scheduled time. A placement is for two players with latencies and ends with its PlacementFulfilled event on GET
// /events. A search is one call for a sorted page of 20 with a filter that matches one game session in 500. A start
// lasts from the start of the process to its announcement; it uses a copy of the store that a killed host left. tickets
// and relay-matching start with 20,000 waiting tickets that do not match each other. The host searches them once per
// second.
//
// # Clusters
//
// A cluster is three hosts with peers over TLS and three members of etcd with their data in the temporary folder, all on
// this machine. Calls go to the hosts in turn; a placement's event may come from any of them. CPU is that of all hosts;
// that of etcd is a figure of its own. In cluster-relay all game sessions are on one host, which leads: the other two
// join when its players are there, and only the one is measured. Losses are counted from the signal: a host is known to
// be gone when its registration ends; its game sessions are TERMINATED when each other host says so of all of them; a
// placement that was started afterwards is fulfilled. cluster-nodes runs the registration, the election, the directory
// and the leader's store of 100 nodes in this process, each with a client of etcd of its own; game sessions, placements
// and calls between nodes are not real. Transactions are counted where they are sent. A watch's lag is from the write of
// a load until a node's watch delivers it.
//
// # What is not comparable
//
//   - The bare relay does less: it has no pings, limits, queues, login check, sender stamping, or guarantees of order or
//     delivery, and one stuck reader blocks its room. It is a lower bound, not a competitor.
//   - Numbers from different machines, kernels, Go versions or core counts. Compare ratios of one run.
//   - Rooms of other sizes or other rates. A message that reaches more players costs less per delivery.
//   - Latency here with latency over a network. Memory with other connection counts.
package bench

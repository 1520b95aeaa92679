// Package bench says how the benchmark numbers are made. `troupe bench` runs the workloads of bench/suite: the host and the
// bare relay of bench/barerelay side by side on one machine, over loopback, or a host that runs already. bench/loadgen is the
// client side, bench/server starts and measures the servers, bench/result judges, prints, plots and stores, and
// shows how far a run is, bench/peers has servers of others to compare with.
// JOURNAL.md has what was tried for speed, with figures before and after.
// bench/faults is `troupe faults`, which asks what is lost when networks, disks and hosts break. Only cmd/troupe uses bench.
//
// # CPU per delivered message
//
// User and system time of the server process and of those that it has started (/proc/PID/stat, steps of 10 ms) over the measured
// part, divided by the messages that the clients received in it. The measured part begins when the warm-up ends and lasts a fixed time; reading
// the server's own counters, which is expensive for it, happens outside. Kernel work on loopback is charged to whoever
// sends: the server's figure holds the delivery into the client's socket, the client's figure that into the server's.
//
// The ratio to bare is taken round by round, the two servers of one round running one after the other; the median of the
// rounds is held against the goal. Every second round has the opposite order. How far the rounds of one server differ is the
// noise of the machine at that time. The table warns when others used more than 5 % of the machine. When the generator was
// more than 5 ms late (p99) and latencies are not at least four times that, or when it has not sent 99 % of what was due, the
// figures of that server prove nothing, and no goal is judged by them.
//
// # Allocations
//
// Heap objects allocated by the server process over the measured part (tiny ones included), less what reading the counter
// once allocates, which is found by reading it twice in a row after the load. The host's counter is read from /debug/runtime:
// /metrics answers what it has gathered within the last second, so two reads of it in a row say nothing. The host keeps what
// stock players have not confirmed, which they do with every ping: its pools grow for that long, and the warm-up is longer. Everything the process
// does counts: pings, timers, metrics. Divided by delivered messages for the bar, and by inbound messages beside it,
// because the bare relay's library allocates once for each message it reads.
//
// # Latency
//
// From the intended send time of a message, which it carries, to the moment a client has read it; open loop, so a server
// that falls behind does not slow the load down (see bench/loadgen). Histograms hold every message of the measured part.
// Several rounds give the median of each percentile and the greatest maximum. Generator and server share the machine, so
// this is the latency of both; "lateness" in the JSON is the generator's own part in sending. Delivered of expected
// counts by intended time too, after waiting a few seconds for stragglers; all must arrive.
//
// # Context switches
//
// Voluntary and involuntary, summed over the server's threads.
//
// # Memory per idle connection
//
// VmRSS of the server with N players logged in and idle for the settle time, less VmRSS before the first of them, divided
// by N. Nothing is forced inside the server, no collection, no return of memory: it is what an operator would see,
// garbage of the logins included. The host's part includes its game sessions, players and reservations, and the pings
// it sends meanwhile. Socket buffers belong to the kernel and are in nobody's VmRSS.
//
// # Transports
//
// An echo (workload echo) is one message in and one out. A process on one core (GOMAXPROCS=1, bench/barerelay) echoes for 16 peers
// with one message under way each, over a plain UDP socket and nothing else, over a dtls.Endpoint, and over a kcp.Listener whose
// connections drain a source as the host's do. The figure is that process's user and system time divided by the echoes. What KCP
// costs a message beyond DTLS is half of the difference of an echo. There are no latencies: each peer waits for its echo.
//
// The lossy path (workloads kcp-loss-1 and -5) is a network namespace in which nftables drops each packet of the players with the
// given probability, so both directions of TCP, DTLS and everything else lose alike. `troupe bench` starts itself once more in the
// namespace for each measurement. Players log in before packets are lost. They send through a host in the same namespace, so a
// message crosses the path twice. There is no added delay: with one, all transports would wait for it alike.
//
// Players of these workloads and of the fast channel connect with Troupe's Go client (bench/loadgen, SDK), which costs the generator
// more than bare WebSockets do.
//
// # Reconnection
//
// The workloads reconnect-single and reconnect-storm cut players of Troupe's client, by a TCP reset or without a word over KCP. The
// time to reconnect is from the cut to the answer to the login, as the player sees it, in a process that plays all of them; "all
// back" is from the first cut to the last answer. Lost and duplicated are by the numbers in the messages, per sender and receiver,
// when nothing more arrives.
//
// What acknowledgements cost is the CPU per delivered message of one build with them and with reconnect.acknowledge=false,
// in turns (the workloads acks-*): with players that number and acknowledge, in small rooms and, without a bar,
// in large ones, where a delivery costs so little that keeping the message shows; and with stock players, whose pings carry
// marks. Without them nothing is kept after it was written.
//
// # Scripts
//
// The scripts are those of bench/suite/scripts, and the user's own. What a message costs more through a script is the difference
// of two hosts: what a player sends to itself is relayed back, what it sends to the server comes back from onMessage. The hosts are
// well loaded: what a message costs a host that is half idle is for the larger part the way out of idleness. Memory of script-idle is
// VmRSS with all game sessions made and at rest; nobody is in them. Ticks are measured inside the scripts: a tick is late by as much
// as it comes more than 50 ms after the one before; counts go to the game sessions' logs, which the benchmark reads. A hostile script
// (script-hostile) runs beside scripted game sessions with players, a new one whenever the host has ended it; the others' p99 is
// compared with that of a host without, in the same round. The load generator shares the machine: a script that takes a core takes it
// from the generator, too. hostile-scripts runs each script of the table that the engine is tested with (scripts/hostile.json) once:
// the other game's p99 while it does harm is compared with that before and after.
//
// # Service API
//
// placements, player-sessions, search and start have hosts with a store of their own on the disk of the temporary folder. Calls are
// AWS JSON over up to 128 connections, begin at their times whether or not others have been answered, and latency counts from when a
// call was due. A placement is for two players with latencies and ends, for the benchmark, when its PlacementFulfilled comes on
// GET /events. A search is one call for a page of 20, sorted, of a filter that one game session in 500 fits. A start is from the
// start of the process to its announcement, on a store of copies of what a killed host has left: a game session, its players and
// its placement, over and over.
//
// tickets and relay-matching begin when 20,000 tickets wait, of which no ten fit together; the host searches them once per second.
//
// bench/faults/kills counts what was answered before a SIGKILL, and looks for each piece of it after the next start. A failpoint is
// passed at a random count; one that was not passed in time is a kill from outside, and said so.
//
// # What is not comparable
//
//   - The bare relay does less: no pings, no limits, no queue, no login check, no sender stamping, no order or loss
//     guarantees, and one stuck reader stops its room. It is a floor, not a competitor.
//   - Numbers of different machines, kernels, Go versions or core counts; compare ratios of one run.
//   - Rooms of other sizes or other rates: a message that reaches more players costs less per delivery.
//   - Latency here with latency over a network, or with a generator on its own machine.
//   - Memory with other connection counts: fixed costs and the collector's head room divide differently.
package bench

// Package memnet is a network in memory for tests: datagram sockets and streams
// between addresses of its own, over paths that lose, duplicate, reorder, delay
// and block what travels on them. It runs in real time and, faster and exactly,
// in the virtual time of a testing/synctest bubble; a network belongs to the
// bubble it was made in.
//
// # Chance
//
// Every choice is drawn from one seed. Each direction between two addresses draws
// from a stream of its own that is derived from the seed and the two addresses, so
// that what one path does depends on what it carried and not on how goroutines
// were scheduled elsewhere. [Seed] picks a seed, prints it when the test fails and
// takes it from the flag -transport.seed. A seed repeats the network's choices for
// the same traffic; it does not repeat how the goroutines were scheduled that made
// the traffic, nor their keys and clocks.
//
// # Datagrams
//
// A [PacketConn] is what the transports need of a *net.UDPConn. A datagram may be
// lost, come twice, be overtaken, be too large for the path, or find a full
// queue. Delay and jitter alone keep the order; only Condition.Reorder breaks it,
// so that a test can say what share must arrive newest first.
//
// # Streams
//
// A [Stream] behaves as a TCP connection whose loss is seen only as time: a lost
// segment comes one retransmission timeout later for each time it was lost, and
// all behind it waits. The timeout does not grow, as in Linux's linear timeouts
// for thin streams, so that a loss of 20 % costs seconds and not minutes. What is
// written and not read occupies the one buffer of a direction; when that is full,
// writing waits. A path that is blocked delivers nothing and acknowledges nothing
// until it is open again. Closing with input unread resets, and so does whatever
// arrives at a closed end.
//
// # What it does not do
//
// There is no bandwidth, no congestion control, no keep-alive, no user timeout
// and no ICMP: a datagram for nobody vanishes.
package memnet

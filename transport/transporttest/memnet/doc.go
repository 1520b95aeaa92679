// Package memnet is an in-memory network for tests: datagram sockets and streams
// between addresses of its own, over paths that lose, duplicate, reorder, delay and
// block traffic. It runs in real time and, faster and exactly, in the virtual time of a
// testing/synctest bubble. A network belongs to the bubble in which it was made.
//
// # Chance
//
// Every random choice comes from one seed. Each direction between two addresses has a
// random stream of its own, derived from the seed and the two addresses. The behaviour
// of a path therefore depends only on its traffic, and not on how goroutines were
// scheduled elsewhere. [Seed] picks a seed, prints it when the test fails, and takes it
// from the flag -transport.seed. A seed repeats the network's choices for the same
// traffic. It does not repeat the scheduling of the goroutines that made the traffic,
// nor their keys and clocks.
//
// # Datagrams
//
// A [PacketConn] is what the transports need of a *net.UDPConn. A datagram may be
// lost, come twice, be overtaken, be too large for the path, or find a full queue. Delay
// and jitter keep the order. Only Condition.Reorder breaks it, so that a test can set
// the share of reordered datagrams.
//
// # Streams
//
// A [Stream] behaves as a TCP connection on which loss causes only delay: a lost segment
// arrives one retransmission timeout later for each time it was lost, and all later
// segments wait for it. The timeout does not grow, as in Linux's linear timeouts for thin
// streams, so that a loss of 20 % costs seconds and not minutes. Each direction has one
// buffer for bytes that are written and not yet read; when it is full, writes wait. A
// blocked path delivers and acknowledges nothing until it is open again. Closing a
// stream with unread input resets it, and so does data that arrives at a closed end.
//
// # What it does not do
//
// There is no bandwidth, no congestion control, no keep-alive, no user timeout
// and no ICMP: a datagram for nobody vanishes.
package memnet

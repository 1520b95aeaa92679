// Package memnet is an in-memory network for tests. It has datagram sockets and streams between its own
// addresses, over paths that lose, duplicate, reorder, delay and block traffic. It runs in real time, or in
// the virtual time of a testing/synctest bubble, which is faster and exact. A network belongs to the bubble
// in which it was created.
//
// # Randomness
//
// Every random choice derives from one seed. Each direction between two addresses has its own random stream,
// derived from the seed and the two addresses. The behaviour of a path therefore depends only on its own
// traffic, and not on how goroutines are scheduled elsewhere. [Seed] chooses a seed and prints it if the test
// fails; the flag -transport.seed sets it. With the same seed and the same traffic, the network makes the
// same choices. The seed does not reproduce the scheduling of goroutines, nor their keys and clocks.
//
// # Datagrams
//
// A [PacketConn] has the methods of a *net.UDPConn that the transports need. A datagram may be lost,
// duplicated, overtaken, too large for the path, or dropped because a queue is full. Delay and jitter
// preserve the order. Only Condition.Reorder changes it, so a test can set the share of reordered datagrams.
//
// # Streams
//
// A [Stream] behaves like a TCP connection on which loss causes only delay. A lost segment arrives one
// retransmission timeout later for each time it was lost, and all later segments wait for it. The timeout
// does not grow, as with Linux's linear timeouts for thin streams, so a loss of 20 % costs seconds and not
// minutes. Each direction has one buffer for bytes that are written and not yet read. While it is full,
// writes block. A blocked path delivers and acknowledges nothing until it is open again. Closing a stream
// with unread input resets it, and so does data that arrives at a closed end.
//
// # Limits
//
// There is no bandwidth limit, no congestion control, no keep-alive, no user timeout and no ICMP. A datagram
// to an address without a socket vanishes.
package memnet

// Package loadgen is an open-loop swarm of Realtime clients for the benchmarks.
//
// Connect adds players to a Swarm, in any number of waves. Run then drives the swarm, once or several times: every
// player sends a reliable message to all players of its room at a fixed rate, whatever the server does. The first eight
// bytes of the payload are the intended send time in nanoseconds of this process's monotonic clock. Latency therefore
// counts from when a message should have been sent, not from when a stalled sender sent it (as in wrk2).
//
// Send times are chosen as follows. The period 1/Hz is divided into as many equal slots as there are players. A seeded
// shuffle assigns the slots, so that the players of a room do not send back to back. Each player sends at a seeded
// random point of its slot, the same point in every period. The load is therefore even over time, each player's rate is
// exact, and the seed makes it reproducible.
//
// One pacer goroutine sends for all players. Each connection has one reader goroutine with a small buffer; the reader
// extracts several frames from one read and answers pings. Readers share a few shards of counters and histograms. The
// generator shares the machine with the server, so it must be cheap: it uses no reflection and does not allocate per
// message. The outgoing frame is kept in masked form, and only its stamp is rewritten. The masking key is random per
// connection, not per frame, which costs the server the same.
//
// The package deliberately does not reconnect, and does not check payloads beyond the stamp. Only players with
// Config.SDK use the fast channel.
package loadgen

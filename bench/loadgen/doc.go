// Package loadgen is an open-loop swarm of Realtime clients for the benchmarks.
//
// A Swarm is filled by Connect, in as many waves as the caller likes, and then driven once by Run: every player sends a
// reliable message to all players of its room at a fixed rate, whatever the server does. The first eight bytes of the
// payload are the intended send time in nanoseconds of this process's monotonic clock, so latency counts from when a
// message should have left, not from when a stalled sender got round to it (as wrk2 does).
//
// Send times: the period 1/Hz is cut into as many equal slots as there are players. Slots are dealt out by a seeded
// shuffle, so that a room's players do not send back to back, and each player sends at a seeded random point of its slot,
// the same one in every period. The load is thus even over time, each player's rate exact, and a seed repeats it.
//
// Who does what: one pacer goroutine sends for everybody; each connection has one reader goroutine with a small buffer
// that takes several frames out of one read and answers pings; readers share a few shards of counters and histograms.
// The generator shares the machine with the server, so it is written to be cheap: no reflection, no allocation per
// message, the outgoing frame is kept masked and only its stamp is rewritten. Its masking key is random per connection,
// not per frame, which costs the server the same.
//
// It deliberately does not reconnect, use the fast channel, or check payloads beyond the stamp.
package loadgen

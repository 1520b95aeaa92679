package client

import "sync/atomic"

// Stats are counts over all connections since Dial or the last ResetStats.
type Stats struct {
	Reliable, Fast ChannelStats

	// Reconnects is how often the client has reconnected after a loss.
	Reconnects uint64
	// Replayed packets were sent again after a reconnect. Duplicates were received again and dropped.
	Replayed, Duplicates uint64
	// Gaps is how many gaps the host has reported. Lost is how many messages were lost in them.
	Gaps, Lost uint64
}

// ChannelStats are the counts of one channel, including the packets of the protocol itself. Bytes include the length
// prefix of each packet, but not the overhead of WebSocket, TLS, KCP or UDP.
type ChannelStats struct {
	Sent, SentBytes         uint64
	Received, ReceivedBytes uint64
	// Malformed packets could not be parsed. Received includes Malformed, Stale and Dropped.
	Malformed uint64
	// Stale packets arrived late and were dropped; fast channel only.
	Stale uint64
	// Dropped packets were dropped because the event buffer was full; fast channel only.
	Dropped uint64
	// Unsent messages with intent Fast were dropped, because there was no connection or the kernel did not
	// accept them. Sent does not include them.
	Unsent uint64
}

type channelCounters struct {
	sent, sentBytes, received, receivedBytes, malformed, stale, dropped, unsent atomic.Uint64
}

func (c *channelCounters) countSent(n int) {
	c.sent.Add(1)
	c.sentBytes.Add(uint64(n))
}

func (c *channelCounters) countReceived(n int) {
	c.received.Add(1)
	c.receivedBytes.Add(uint64(n))
}

// read reads each count with get, which may also reset it.
func (c *channelCounters) read(get func(*atomic.Uint64) uint64) ChannelStats {
	return ChannelStats{
		Sent: get(&c.sent), SentBytes: get(&c.sentBytes), Received: get(&c.received), ReceivedBytes: get(&c.receivedBytes),
		Malformed: get(&c.malformed), Stale: get(&c.stale), Dropped: get(&c.dropped), Unsent: get(&c.unsent),
	}
}

// Stats returns the counts since Dial or the last ResetStats.
func (c *Client) Stats() Stats { return c.readStats((*atomic.Uint64).Load) }

// ResetStats returns the counts and sets them to zero. No event is counted twice or missed.
func (c *Client) ResetStats() Stats {
	return c.readStats(func(n *atomic.Uint64) uint64 { return n.Swap(0) })
}

func (c *Client) readStats(get func(*atomic.Uint64) uint64) Stats {
	s := &c.resumes
	return Stats{
		Reliable: c.reliable.read(get), Fast: c.datagrams.read(get),
		Reconnects: get(&s.reconnects), Replayed: get(&s.replayed), Duplicates: get(&s.duplicates),
		Gaps: get(&s.gaps), Lost: get(&s.lost),
	}
}

// resumeCounters are the counters of a Client that do not belong to a channel.
type resumeCounters struct{ reconnects, replayed, duplicates, gaps, lost atomic.Uint64 }

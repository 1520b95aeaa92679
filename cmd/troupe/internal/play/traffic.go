package play

import (
	"fmt"
	"strings"

	"troupe/transport/client"
)

// traffic counts sent and received packets by channel, and connections by transport.
type traffic struct {
	over  [client.Auto]int // connections per transport
	stats client.Stats
}

func (t *traffic) add(other traffic) {
	for kind, n := range other.over {
		t.over[kind] += n
	}
	addChannel(&t.stats.Reliable, &other.stats.Reliable)
	addChannel(&t.stats.Fast, &other.stats.Fast)
	t.stats.Reconnects += other.stats.Reconnects
	t.stats.Replayed += other.stats.Replayed
	t.stats.Duplicates += other.stats.Duplicates
	t.stats.Lost += other.stats.Lost
}

func addChannel(to, s *client.ChannelStats) {
	to.Sent += s.Sent
	to.SentBytes += s.SentBytes
	to.Received += s.Received
	to.ReceivedBytes += s.ReceivedBytes
	to.Malformed += s.Malformed
	to.Stale += s.Stale
	to.Dropped += s.Dropped
	to.Unsent += s.Unsent
}

// String formats the counts in one line.
func (t traffic) String() string {
	var over []string
	for kind, n := range t.over {
		if n > 0 {
			over = append(over, fmt.Sprintf("%s %d", client.Transport(kind), n))
		}
	}
	text := fmt.Sprintf("connections: %s; packets by the reliable channel: %s", strings.Join(over, ", "), channelLine(&t.stats.Reliable))
	if fast := &t.stats.Fast; *fast != (client.ChannelStats{}) {
		text += fmt.Sprintf("; by the fast channel: %s, stale %d, dropped %d, unsent %d", channelLine(fast), fast.Stale, fast.Dropped, fast.Unsent)
	}
	if s := &t.stats; s.Reconnects > 0 {
		text += fmt.Sprintf("; of %d reconnects: sent again %d, received again and dropped %d, lost %d", s.Reconnects, s.Replayed, s.Duplicates, s.Lost)
	}
	return text
}

func channelLine(s *client.ChannelStats) string {
	text := fmt.Sprintf("sent %d (%d bytes), received %d (%d bytes)", s.Sent, s.SentBytes, s.Received, s.ReceivedBytes)
	if s.Malformed > 0 {
		text += fmt.Sprintf(", malformed %d", s.Malformed)
	}
	return text
}

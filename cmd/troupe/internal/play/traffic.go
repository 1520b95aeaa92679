package play

import (
	"fmt"
	"strings"

	"troupe/transport/client"
)

// traffic is what connections sent and received, and over what.
type traffic struct {
	over  [client.Auto]int // connections per transport
	stats client.Stats
}

// count adds one connection.
func (t *traffic) count(c *client.Client) {
	t.over[c.Transport()]++
	s := c.Stats()
	addChannel(&t.stats.Reliable, &s.Reliable)
	addChannel(&t.stats.Fast, &s.Fast)
}

func (t *traffic) add(other traffic) {
	for kind, n := range other.over {
		t.over[kind] += n
	}
	addChannel(&t.stats.Reliable, &other.stats.Reliable)
	addChannel(&t.stats.Fast, &other.stats.Fast)
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

// String is one line per channel that was used.
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
	return text
}

func channelLine(s *client.ChannelStats) string {
	text := fmt.Sprintf("sent %d (%d bytes), received %d (%d bytes)", s.Sent, s.SentBytes, s.Received, s.ReceivedBytes)
	if s.Malformed > 0 {
		text += fmt.Sprintf(", malformed %d", s.Malformed)
	}
	return text
}

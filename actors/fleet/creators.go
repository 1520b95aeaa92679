package fleet

import (
	"time"

	"troupe/messages"
)

// creators remembers who created a game session in the last second: without a
// policy of the fleet's own, a creator may create one per second (service-api.md
// 2.6 step 5).
type creators struct {
	last  map[creator]time.Time
	swept time.Time
}

type creator struct {
	fleet messages.FleetID
	id    string
}

// creatorPause is the time between two creations by one creator.
const creatorPause = time.Second

// allow reports whether who may create now.
func (c *creators) allow(who creator, now time.Time) bool {
	at, ok := c.last[who]
	return !ok || now.Sub(at) >= creatorPause
}

// remember charges who has created. Old entries are forgotten once per pause, so there
// are as many as creations in two of them.
func (c *creators) remember(who creator, now time.Time) {
	if c.last == nil || now.Sub(c.swept) >= creatorPause {
		for k, at := range c.last {
			if now.Sub(at) >= creatorPause {
				delete(c.last, k)
			}
		}
		if c.last == nil {
			c.last = make(map[creator]time.Time)
		}
		c.swept = now
	}
	c.last[who] = now
}

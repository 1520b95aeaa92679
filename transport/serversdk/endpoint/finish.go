package endpoint

import (
	"time"

	"troupe/messages"
	"troupe/transport/internal/rfc6455"
)

// probeSize is the size of the payload of the ping that probe sends. That of a push has pingSize.
const probeSize = 1

// probe asks a superseded connection whether it is open. If it is, it is the current one again, and does not end.
func (c *conn) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bye || c.ended {
		return
	}
	c.stays()
	if c.probing == nil {
		c.probing = time.AfterFunc(pongTime, c.deaf)
	}
	ping := append(rfc6455.AppendHeader(nil, rfc6455.Ping, probeSize), 0)
	c.enqueue(outgoing{frame: ping, size: len(ping)})
}

// resume makes the connection the current one again, if probe has asked for that.
func (c *conn) resume() {
	c.mu.Lock()
	asked := c.probing != nil
	if asked {
		c.probing.Stop()
		c.probing = nil
	}
	c.mu.Unlock()
	if asked {
		c.call(messages.ResumeProcess{}, func(_ any, err error) {
			if err != nil { // another one has been accepted since, or the process has ended
				c.Supersede()
				return
			}
			c.mu.Lock()
			c.stays() // Supersede may have come after probe
			c.mu.Unlock()
		})
	}
}

// stays stops what would end the connection. The caller holds mu.
func (c *conn) stays() {
	for _, t := range c.timers {
		t.Stop()
	}
	c.timers = nil
}

// finish ends the connection once everything that was begun is answered and written.
func (c *conn) finish() {
	c.mu.Lock()
	c.ends = true
	idle := c.idle()
	c.mu.Unlock()
	if idle {
		c.drop()
	}
}

// idle reports whether the connection should end and nothing keeps it. The caller holds mu.
func (c *conn) idle() bool { return c.ends && c.running == 0 && len(c.out) == 0 && !c.writing }

// begins counts a request that will be answered. It returns false if the connection ends: the process sends the request again
// on another one, or its SDK reports the failure.
func (c *conn) begins() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends || c.ended {
		return false
	}
	c.running++
	return true
}

// finishes sends the answer to a request that begins has counted.
func (c *conn) finishes(text []byte) {
	c.send(frameOf(text))
	c.mu.Lock()
	c.running--
	idle := c.idle()
	c.mu.Unlock()
	if idle {
		c.drop()
	}
}

func (c *conn) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

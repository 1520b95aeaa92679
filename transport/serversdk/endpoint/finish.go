package endpoint

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

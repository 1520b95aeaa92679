package client

import "troupe/messages/wire"

// parse parses one unit.
func parse(h *wire.Header, unit []byte) error {
	_, err := h.ParseUnit(unit)
	return err
}

// onUnit processes one unit of the reliable channel. It blocks while the program takes no events.
func (cn *connection) onUnit(unit []byte) {
	c := cn.client
	c.reliable.countReceived(len(unit))
	if !cn.answered {
		cn.answered = true
		cn.login <- c.onLoginAnswer(cn, unit)
		return
	}
	var h wire.Header
	if parse(&h, unit) != nil {
		c.reliable.malformed.Add(1)
		return
	}
	if !cn.enter() {
		return
	}
	defer func() { <-c.inbox }()
	if c.admit(cn, &h) {
		cn.packet(&h, false)
	}
}

// enter acquires the inbox. It returns false if the connection was abandoned, which must not wait for the program.
func (cn *connection) enter() bool {
	select {
	case cn.client.inbox <- struct{}{}:
		return true
	case <-cn.abandoned:
		return false
	}
}

// admit reports whether a packet of the reliable channel must be processed. The caller holds the inbox.
func (c *Client) admit(cn *connection, h *wire.Header) bool {
	c.mu.Lock()
	if c.current.Load() != cn {
		c.mu.Unlock()
		return false
	}
	fresh, err := c.numbers.take(h.RelSeq, h.Ack)
	pureAck := c.numbers.on() && h.RelSeq == 0 && h.OpCode == 0 && h.Sender == wire.NoPeer
	if h.Ack != 0 {
		c.wake()
	}
	c.scheduleAck(cn)
	c.mu.Unlock()
	switch {
	case err != nil:
		cn.drop(err)
	case !fresh:
		c.resumes.duplicates.Add(1)
	}
	return fresh && !pureAck
}

// onDatagram processes one unit of the fast channel. It does not block, and may be called after the end.
func (cn *connection) onDatagram(unit []byte) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	c := cn.client
	if cn.alive.Err() != nil {
		return
	}
	c.datagrams.countReceived(len(unit))
	var h wire.Header
	switch {
	case parse(&h, unit) != nil:
		c.datagrams.malformed.Add(1)
	case c.current.Load() != cn || !cn.fast.fresh(h.Sequence):
		c.datagrams.stale.Add(1)
	default:
		cn.packet(&h, true)
	}
}

// packet processes a packet. If the packet came over the fast channel, it does not block.
func (cn *connection) packet(h *wire.Header, fast bool) {
	c := cn.client
	stats := &c.reliable
	if fast {
		stats = &c.datagrams
	}
	switch h.OpCode {
	case wire.OpServerAck:
		if cn.onFastAnswer(h.OpCode, true) && fast {
			cn.fast.acknowledge()
		}
	case wire.OpVerifyIdentityResponse:
		result, err := wire.ParseVerifyIdentityResult(h.Inner)
		if err != nil {
			stats.malformed.Add(1)
			return
		}
		cn.onFastAnswer(h.OpCode, result.Success)
	case wire.OpGroupMembershipUpdate:
		m, err := wire.ParseMembership(h.Inner)
		if err != nil {
			stats.malformed.Add(1)
			return
		}
		c.emit(cn, Event{Kind: EventMembership, Sender: h.Sender, Fast: fast, Group: m.Group, Players: m.Players})
	case wire.OpLoginResponse, wire.OpPingResult:
		// They need no action.
	default:
		c.emit(cn, Event{
			Kind: EventMessage, Sender: h.Sender, Fast: fast, OpCode: h.OpCode, TargetPlayer: h.TargetPlayer,
			TargetGroup: h.TargetGroup, Payload: append([]byte(nil), h.Payload...),
		})
	}
}

// onFastAnswer processes the answer to a handshake of the fast channel. The answer may come over either channel. again
// means that the handshake was already complete.
func (cn *connection) onFastAnswer(op int32, accepted bool) (again bool) {
	return cn.fast != nil && cn.fast.answer(op, accepted)
}

// emit passes an event of a connection to the program. The package comment describes what happens if the buffer is full.
func (c *Client) emit(cn *connection, e Event) {
	if e.Fast {
		select {
		case c.events <- e:
		default:
			c.datagrams.dropped.Add(1)
		}
		return
	}
	// The select below would choose at random, so some events after the end would be missing between others.
	if c.life.Err() != nil {
		return
	}
	select {
	case c.events <- e:
	case <-c.life.Done():
	case <-cn.alive.Done(): // only for a helper; the reader itself ends alive
	}
}

package client

import "troupe/messages/wire"

// onUnit takes one unit of the reliable channel, valid during the call. It waits
// while the program takes no events.
func (c *Client) onUnit(unit []byte) {
	c.reliable.countReceived(len(unit))
	if !c.answered {
		c.answered = true
		result, err := parseLoginAnswer(unit)
		c.login <- loginAnswer{result, err}
		return
	}
	c.packet(unit, false)
}

// onDatagram takes one unit of the fast channel, valid during the call. It does
// not wait, and may come after the end.
func (c *Client) onDatagram(unit []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive.Err() != nil {
		return
	}
	c.datagrams.countReceived(len(unit))
	c.packet(unit, true)
}

func (c *Client) packet(unit []byte, fast bool) {
	stats := &c.reliable
	if fast {
		stats = &c.datagrams
	}
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		stats.malformed.Add(1)
		return
	}
	if fast && !c.fast.fresh(h.Sequence) {
		stats.stale.Add(1)
		return
	}
	switch h.OpCode {
	case wire.OpServerAck:
		c.onFastAnswer(h.OpCode, true)
	case wire.OpVerifyIdentityResponse:
		result, err := wire.ParseVerifyIdentityResult(h.Inner)
		if err != nil {
			stats.malformed.Add(1)
			return
		}
		c.onFastAnswer(h.OpCode, result.Success)
	case wire.OpGroupMembershipUpdate:
		m, err := wire.ParseMembership(h.Inner)
		if err != nil {
			stats.malformed.Add(1)
			return
		}
		c.emit(Event{Kind: EventMembership, Sender: h.Sender, Fast: fast, Group: m.Group, Players: m.Players})
	case wire.OpLoginResponse, wire.OpPingResult:
		// nothing to do
	default:
		c.emit(Event{
			Kind: EventMessage, Sender: h.Sender, Fast: fast, OpCode: h.OpCode, TargetPlayer: h.TargetPlayer,
			TargetGroup: h.TargetGroup, Payload: append([]byte(nil), h.Payload...),
		})
	}
}

// onFastAnswer takes the answer to a handshake, which may come by either channel.
func (c *Client) onFastAnswer(op int32, accepted bool) {
	if c.fast != nil {
		c.fast.answer(op, accepted)
	}
}

// emit hands on an event, by the policy of the package comment.
func (c *Client) emit(e Event) {
	if e.Fast {
		select {
		case c.events <- e:
		default:
			c.datagrams.dropped.Add(1)
		}
		return
	}
	select {
	case c.events <- e:
	case <-c.leaving:
	case <-c.alive.Done():
	}
}

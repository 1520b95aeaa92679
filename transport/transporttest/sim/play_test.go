package sim

import (
	"slices"
	"time"

	"troupe/messages"
	"troupe/transport/transporttest/stock"
)

// packet handles a packet for a player in the game.
func (l *link) packet(m *packet) {
	d := l.dev
	if d.flavor == v2 {
		if !d.numbers(l, m) {
			return
		}
	} else if m.relSeq != 0 || m.ack != 0 {
		d.failf("RL-5: player %d does not speak the extension and got number %d, ack %d", d.index, m.relSeq, m.ack)
	}
	switch m.OpCode {
	case opReliable, opFast:
		d.fits(l, m)
	case stock.OpGroupMembershipUpdate:
		if u := m.GroupMembershipUpdate; u != nil {
			d.groups[u.Group] = u.Players
		}
	default:
		d.failf("RL-11: player %d got a packet with op code %d", d.index, m.OpCode)
	}
}

// say sends an application message. A stock player sends only while it is logged in, and messages may be lost
// with its connection.
func (d *device) say(target int32, group int32) {
	if !d.ready() {
		return
	}
	d.sent++
	id := uid{uint8(d.index), d.unit, d.sent}
	d.send(stock.Packet{OpCode: opReliable, TargetPlayer: target, TargetGroup: group, Payload: payload(d.game.canary, id, int(d.sent%16))})
}

// ready reports whether the device may send. A v2 player queues what it cannot send immediately.
func (d *device) ready() bool {
	return d.flavor == v2 && d.known || d.link != nil && d.link.in
}

func (d *device) send(p stock.Packet) {
	p.Reliable, p.Sender = true, int32(d.peer)
	m := packet{Packet: p}
	switch l := d.link; {
	case d.flavor == v2 && d.known:
		d.number(&m)
	case l != nil && l.in:
		l.write(&m)
	}
}

// group sends a group operation.
func (d *device) group(op int32, id int32) {
	p := stock.Packet{OpCode: op, TargetPlayer: stock.ServerID}
	switch op {
	case stock.OpJoinGroup:
		p.JoinGroup = &stock.GroupRef{Group: id}
	case stock.OpLeaveGroup:
		p.LeaveGroup = &stock.GroupRef{Group: id}
	default:
		p.RequestGroupMembership = &stock.GroupRef{Group: id}
	}
	d.send(p)
}

// broken records that a player's path or connection is faulty from now on.
func (p *player) broken() {
	if p.dev != nil && p.dev.link != nil {
		p.dev.link.doubtful = false // replaced by the stronger fault
	}
	if p.brokenAt.IsZero() {
		p.brokenAt = time.Now()
		p.unsure()
	}
}

// keep reconnects a player that wants to be in the game. It abandons a connection on which nothing arrives.
func (p *player) keep() {
	if !p.wants || p.dev == nil {
		return
	}
	now := time.Now()
	l := p.dev.link
	if l != nil && now.Sub(l.heardAt()) > 3*p.plan.ping+time.Second && !now.Before(l.slowTill) {
		p.note(p, "gives up", int64(l.number), 0)
		p.broken()
		p.drop(l)
		l = nil
	}
	if l != nil && l.expect != 0 && !p.cut && now.Sub(l.since) > 3*time.Second && now.Sub(l.slowTill) > 3*time.Second {
		p.failf("RL-6: connection %d of player %d broke the rules and is not closed", l.number, p.index)
		l.expect = 0
	}
	if l == nil && !now.Before(p.retryAt) {
		p.retryAt = time.Time{}
		p.dev.dial()
	}
}

// heardAt returns the time of the last arrival.
func (l *link) heardAt() time.Time {
	if l.sock != nil && l.sock.lastHeard().After(l.lastSeen) {
		return l.sock.lastHeard()
	}
	return l.lastSeen
}

// drop abandons a connection by resetting it. A blocked path does not deliver the reset.
func (p *player) drop(l *link) {
	l.fenced = true
	if l.dev.link == l {
		l.dev.link = nil
		l.dev.dropAck()
	}
	if l.sock != nil {
		l.sock.reset()
	}
}

// newDevice lets another device play, which knows only the player session id.
func (p *player) newDevice() {
	old := p.dev
	p.dev = &device{player: p, node: p.nodes[0]}
	clear(p.groups)
	if old != nil {
		old.dropAck()
		if old.link != nil {
			old.link.fence()
		}
		if old.node == p.nodes[0] {
			p.dev.node = p.nodes[1]
		}
	}
}

// quiet returns why a player is not yet in the final state, or "". In the final state it is in the game, and
// everything is delivered in both directions (RL-2, RL-29).
func (p *player) quiet() string {
	st := p.presence
	if p.game.ending {
		return ""
	}
	if st == nil || !st.accepted || st.over {
		if p.wants && p.presence == nil {
			return "has not come in"
		}
		return ""
	}
	l := p.dev.link
	switch {
	case !p.wants:
		return "is still in the game"
	case l == nil || !l.in:
		return "is not attached"
	case time.Now().Before(l.slowTill):
		return "reads nothing yet"
	case len(st.want)-st.furthest > p.toldOf() && p.flavor != mute:
		return "lacks messages: " + st.want[st.furthest].id.String()
	case len(p.dev.held) > 0:
		return "has messages that are not acknowledged"
	}
	return ""
}

// toldOf returns how many of the last messages of a presence may be lost, because their loss was reported: to
// a v2 player itself, or to the game for a stock player. The dropped message may be the last one that the
// game has routed, if the messages queued after it are the host's own.
func (p *player) toldOf() int {
	if p.flavor == v2 {
		return p.dev.missing
	}
	return p.lost
}

// inGroup returns the members of a group that the game knows.
func (g *game) inGroup(id messages.GroupID) (peers []int32) {
	for peer := range g.members[id] {
		peers = append(peers, int32(peer))
	}
	slices.Sort(peers)
	return peers
}

// surely returns how many messages of a presence the host knows to have arrived: those before the last mark
// whose echo has arrived.
func (p *player) surely(st *presence) (at int) {
	for _, m := range p.marks {
		if m.presence == st {
			at = max(at, m.at)
		}
	}
	return at
}

// unsure removes marks whose echo may have been lost with a connection.
func (p *player) unsure() {
	limit := time.Now().Add(-2 * time.Second)
	p.marks = slices.DeleteFunc(p.marks, func(m mark) bool { return m.when.After(limit) })
	if p.muteSince.After(limit) {
		p.muteSince = time.Time{}
	}
}

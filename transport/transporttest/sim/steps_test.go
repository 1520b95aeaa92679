package sim

import (
	"slices"
	"time"

	"troupe/messages"
	"troupe/transport/transporttest/stock"
)

// perform performs one step. The caller holds the lock, so it must not block.
func (r *run) perform(s step) {
	if s.do == endGame {
		r.endGame(r.games[s.arg%len(r.games)])
		return
	}
	p := r.players[s.player]
	d := p.dev
	if d == nil || !p.wants || p.presence == nil || p.game.ending {
		return
	}
	if s.do > burst {
		r.note(p, actionNames[s.do], int64(s.arg), int64(s.d/time.Millisecond))
	}
	l := d.link
	switch s.do {
	case sayPlayer:
		if q := r.players[s.arg]; q.game == p.game && q.peer != 0 {
			d.say(int32(q.peer), 0)
		}
	case sayGroup:
		d.sayGroup(int32(s.arg))
	case sayServer:
		d.say(stock.ServerID, 0)
	case sayAll:
		d.say(0, stock.AllPlayers)
	case burst:
		for i := range s.arg {
			r.perform(step{player: s.player, do: action(i) % burst, arg: i % len(r.players)})
		}
	case joinGroup:
		if !p.burned[int32(s.arg)] {
			d.group(stock.OpJoinGroup, int32(s.arg))
		}
	case leaveGroup:
		if d.ready() {
			p.burned[int32(s.arg)] = true
			d.group(stock.OpLeaveGroup, int32(s.arg))
		}
	case takeOver:
		p.broken()
		p.newDevice()
		r.block(p.dev, false)
		p.cut = false
		p.dev.dial()
	case halfOpen:
		p.broken()
		r.block(d, true)
		p.newDevice()
		r.block(p.dev, false)
		p.cut = false
		p.dev.dial()
	case resumeLive:
		d.dial()
	case giveUpLogin:
		if d.flavor == v2 && d.known {
			l := d.dial()
			l.givenUp = &lateLogin{after: s.d, token: d.token, received: d.received, closes: s.arg > 0}
			d.dial()
		}
	case reset:
		p.loses(s.d)
	case stayAway:
		p.loses(p.plan.window + p.plan.silence + 3*time.Second)
	case cut:
		p.broken()
		p.cutPath(s.d)
		p.loses(s.d)
	case cutUnnoticed:
		p.broken()
		p.cutPath(s.d)
	default:
		if l != nil && l.in && !p.cut {
			p.performLive(s, l)
		}
	}
}

// performLive performs a step that needs a connection.
func (p *player) performLive(s step, l *link) {
	d := p.dev
	switch s.do {
	case resumeTwice:
		d.dial().twice = true
	case leave:
		if p.lostAt.IsZero() && !p.presence.over { // otherwise the host has dropped this connection and does not see the close
			p.mayLeave = "left"
		}
		p.spoke = time.Now()
		_ = l.sock.write(stock.FrameClose, []byte{1000 >> 8, 1000 & 0xFF})
		l.fenced, d.link = true, nil
		d.dropAck()
		p.retryAt = time.Now().Add(s.d)
		if s.d == 0 {
			p.wants = false
		}
		p.anew()
	case deadLogin:
		p.deadLogin(d)
	case garbage:
		p.spoke = time.Now()
		_ = l.sock.write(stock.FrameBinary, []byte{200, 1, 2, 3})
		if d.flavor != v2 { // all packets of a v2 player have numbers
			second := packet{Packet: stock.LoginPacket(stock.CSharp, string(p.id), nil)}
			l.write(&second)
		}
	case again:
		if n := len(d.held); n > 0 && d.flavor == v2 {
			d.put(l, &d.held[n-1]) // with the current acknowledgement, because a lower one than before would be a violation
		}
	case skipNumber:
		if d.flavor == v2 {
			l.write(&packet{Packet: stock.Packet{OpCode: opReliable, TargetPlayer: stock.ServerID, Reliable: true}, relSeq: d.last + 7})
			l.must(messages.CloseOutOfOrder)
		}
	case ackTooMuch:
		if d.flavor == v2 {
			l.write(&packet{Packet: stock.Packet{Reliable: true}, ack: d.received + 100_000})
			l.must(messages.CloseOutOfOrder)
		}
	case slow:
		p.broken()
		if till := time.Now().Add(s.d); till.After(l.slowTill) {
			l.slowTill = till
		}
	case kick:
		p.mayLeave, p.wants = "kicked", false
		g, peer := p.game, p.peer
		g.session.Do(func() { g.session.KickPlayer(peer, "the plan wants it") })
	}
}

// must records the reason with which the host has to close a connection.
func (l *link) must(end messages.CloseReason) {
	l.expect, l.since = end, time.Now()
	l.dev.broken()
}

// anew replaces the device by one that knows only the player session id.
func (p *player) anew() {
	node := p.dev.node
	p.dev = &device{player: p, node: node}
}

// loses resets the connection. The player dials again after d.
func (p *player) loses(d time.Duration) {
	p.broken()
	if l := p.dev.link; l != nil {
		p.drop(l)
	}
	p.retryAt = time.Now().Add(d)
	if d == 0 {
		p.retryAt = time.Time{}
		p.dev.dial()
	}
}

// cutPath blocks the path of a device for d.
func (p *player) cutPath(d time.Duration) {
	p.block(p.dev, true)
	p.cut = true
	if l := p.dev.link; l != nil {
		l.expect = 0 // the host's close may never arrive
	}
	dev := p.dev
	p.later(d, func() {
		p.block(dev, false)
		if p.dev.node == dev.node {
			p.cut = false
		}
	})
}

func (r *run) block(d *device, on bool) {
	r.net.Partition(d.node.Addr(), r.host.Addr(), on)
}

// deadLogin logs in with a token that the host must know to be invalid. The current connection must not be
// affected (RL-12).
func (p *player) deadLogin(d *device) {
	if d.flavor != v2 || !p.brokenAt.IsZero() {
		return
	}
	token := "bm90IGEgdG9rZW4gb2YgdGhpcyBob3N0LCBub3IgYW55"
	if n := len(d.dead); n > 0 && time.Since(d.dead[n-1].since) > 2*time.Second {
		token = d.dead[n-1].token
	}
	thief := &device{player: p, node: p.nodes[1], token: token, received: d.received, known: true}
	p.links++
	l := &link{dev: thief, number: p.links, opened: time.Now(), passive: true, fenced: true, kcp: p.overKCP()}
	go l.run()
}

// sayGroup sends to a group if the device is certainly a member: an update said so, and it has never
// requested to leave.
func (d *device) sayGroup(id int32) {
	if !d.burned[id] && slices.Contains(d.groups[id], int32(d.peer)) {
		d.say(0, id)
	}
}

// endGame makes the game end its game session, like a script.
func (r *run) endGame(g *game) {
	g.ending = true
	g.session.Do(func() {
		g.session.ProcessEnding()
		g.session.Exit(0)
	})
}

package sim

import (
	"fmt"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// entry is a message that a player must receive.
type entry struct {
	id uid
	at time.Time // time of routing
}

// presence is a player's stay in its game, over any number of connections. It begins with OnPlayerConnect and
// ends with OnPlayerDisconnect.
type presence struct {
	number   int
	peer     messages.PeerID
	want     []entry // messages that the player must receive, in order
	at       map[uid]int
	fast     map[uid]time.Time // messages sent as fast, which may arrive once
	accepted bool
	over     bool
	overAt   time.Time
	furthest int // number of entries of want that any device of the player has received
	lastFast uint32
}

func (st *presence) expect(id uid, now time.Time) {
	st.at[id] = len(st.want)
	st.want = append(st.want, entry{id, now})
}

// game is the logic of a game session. It accepts players, echoes messages and records what players must
// receive. Its callbacks are never concurrent. The run's lock guards its fields, because players access them
// as well.
type game struct {
	script.Base
	*run
	index   int
	id      messages.GameSessionID
	canary  [canaryBytes]byte
	session script.Session // set before the first player connects
	max     int
	sent    uint32
	members map[messages.GroupID]map[messages.PeerID]bool
	roster  map[messages.PeerID]*player
	owner   map[messages.PeerID]*player // RL-9: entries are never removed
	ending  bool                        // whether the run has requested its end
}

func (g *game) Configuration() script.Configuration {
	return script.Configuration{PingInterval: g.plan.ping, MaxPlayers: g.max}
}

func (g *game) Init(s script.Session) error {
	g.session = s
	return nil
}

// OnPlayerConnect begins a presence (RL-9, RL-11, RL-13, RL-15).
func (g *game) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, peer := g.byID[m.Player.PlayerSessionID], m.Player.PeerID
	switch {
	case p == nil || p.game != g:
		g.failf("RL-11: login of %s at game %d, which it does not belong to", m.Player.PlayerSessionID.Short(), g.index)
		return script.Refuse
	case p.presence != nil && p.presence.accepted && !p.presence.over:
		g.failf("RL-13: a second Connect for player %d within a presence", p.index)
	case len(g.roster)+1 > g.max:
		g.failf("RL-15: Connect with %d of %d players in the game", len(g.roster), g.max)
	case p.presence != nil && p.presence.accepted && g.plan.window == 0:
		g.failf("RL-13: player %d comes in again in strict mode", p.index)
	case g.owner[peer] != nil && g.owner[peer] != p:
		g.failf("RL-9: peer id %d of player %d is given to player %d", peer, g.owner[peer].index, p.index)
	case p.peer != 0 && p.peer != peer:
		g.failf("RL-9: player %d had peer id %d and comes back as %d", p.index, p.peer, peer)
	}
	if p.refusals > 0 {
		p.refusals--
		g.note(p, "gate says no", int64(peer), 0)
		return script.Refuse
	}
	g.owner[peer], p.peer = p, peer
	p.presence = &presence{number: len(p.presences) + 1, peer: peer, at: make(map[uid]int), fast: make(map[uid]time.Time)}
	p.presences = append(p.presences, p.presence)
	p.muteSince, p.mayLeave = time.Time{}, ""
	if l := p.dev.link; l == nil || l.in { // an abandoned attempt: its LOGIN arrived late
		p.broken()
	}
	g.note(p, "connect", int64(peer), int64(p.presence.number))
	if p.presence.number > 1 {
		g.note(p, "comes in anew", int64(peer), 0)
	}
	g.tell(p) // queued until the login is answered (D-121)
	return script.Allow
}

func (g *game) OnPlayerAccepted(pl script.Player) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.byID[pl.PlayerSessionID]
	switch {
	case p == nil || p.presence == nil || p.presence.over || p.presence.accepted:
		g.failf("RL-13: Accepted of peer %d without a Connect, or twice", pl.PeerID)
	case pl.PeerID != p.presence.peer:
		g.failf("RL-9: peer %d accepted as %d", p.presence.peer, pl.PeerID)
	default:
		p.presence.accepted = true
		g.roster[pl.PeerID] = p
		g.note(p, "accepted", int64(pl.PeerID), 0)
	}
}

// OnPlayerDisconnect ends a presence, and checks that there was a reason (RL-2, RL-13, RL-14).
func (g *game) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.roster[peer]
	if p == nil {
		g.failf("RL-13: Disconnect of peer %d, who is not in the game", peer)
		return script.Allow
	}
	g.note(p, "disconnect", int64(peer), int64(p.presence.number))
	p.presence.over, p.presence.overAt = true, time.Now()
	delete(g.roster, peer)
	for _, in := range g.members {
		delete(in, peer)
	}
	clear(p.groups)
	clear(p.burned)
	p.left()
	return script.Allow
}

func (g *game) OnPlayerJoinGroup(id messages.GroupID, peer messages.PeerID) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members[id] == nil {
		g.members[id] = make(map[messages.PeerID]bool)
	}
	g.members[id][peer] = true
	return script.Allow
}

func (g *game) OnPlayerLeaveGroup(id messages.GroupID, peer messages.PeerID) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members[id], peer)
	return script.Allow
}

func (g *game) OnSendToPlayer(m *script.Message) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id, ok := g.heard(m); ok {
		g.owe(id, g.roster[m.TargetPlayer])
	}
	return script.Allow
}

func (g *game) OnSendToGroup(m *script.Message) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id, ok := g.heard(m); ok {
		g.oweGroup(id, m.TargetGroup)
	}
	return script.Allow
}

// OnMessage answers some of the messages, in all ways that a game can.
func (g *game) OnMessage(m *script.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.heard(m)
	if !ok {
		return
	}
	p := g.roster[m.Sender]
	switch id.n % 4 {
	case 0:
		g.tell(p)
	case 1:
		g.tellAll(messages.AllPlayers)
	case 2:
		g.tellAll(1)
	default:
		fast := g.next()
		p.presence.fast[fast] = time.Now()
		g.session.Send(script.Outgoing{OpCode: opFast, Sender: messages.ServerPeer, Payload: payload(g.canary, fast, 8)}, script.ToPlayer(m.Sender))
	}
}

// tell sends a message to one player, and tellAll to a group. Both record which players must receive it.
func (g *game) tell(p *player) {
	id := g.next()
	g.owe(id, p)
	g.session.Send(g.compose(id), script.ToPlayer(p.peer).Reliably())
}

func (g *game) tellAll(to messages.GroupID) {
	id := g.next()
	g.oweGroup(id, to)
	g.session.Send(g.compose(id), script.ToGroup(to).Reliably())
}

func (g *game) compose(id uid) script.Outgoing {
	return script.Outgoing{OpCode: opReliable, Sender: messages.ServerPeer, Payload: payload(g.canary, id, int(id.n%24))}
}

func (g *game) next() uid {
	g.sent++
	return uid{from: serverSender, n: g.sent}
}

func (g *game) owe(id uid, p *player) {
	if p != nil && p.presence != nil && !p.presence.over {
		p.presence.expect(id, time.Now())
	}
}

func (g *game) oweGroup(id uid, to messages.GroupID) {
	if to == messages.AllPlayers {
		for _, p := range g.roster {
			g.owe(id, p)
		}
		return
	}
	for peer := range g.members[to] {
		g.owe(id, g.roster[peer])
	}
}

// heard checks a player's message in the game: it must be intact, from the stated sender, and the sender's
// next message (RL-1, RL-3, RL-4, RL-8, RL-10, RL-11).
func (g *game) heard(m *script.Message) (id uid, ok bool) {
	canary, id, whole := parsePayload(m.Payload)
	switch p := g.roster[m.Sender]; {
	case !whole:
		g.failf("RL-4: payload of %d bytes from peer %d is damaged on its way in", len(m.Payload), m.Sender)
	case canary != g.canary:
		g.failf("RL-11: a message of another game session is routed in game %d", g.index)
	case p == nil:
		g.failf("RL-11: message %v of peer %d, who is not in the game", id, m.Sender)
	case int(id.from) != p.index:
		g.failf("RL-10: message %v is shown as one of player %d", id, p.index)
	case id.unit < p.heard.unit:
		g.failf("RL-8: message %v of an older life of player %d, after %v", id, p.index, p.heard)
	case id.unit > p.heard.unit && id.n != 1 || id.unit == p.heard.unit && id.n != p.heard.n+1:
		g.failf("RL-1: message %v of player %d after %v", id, p.index, p.heard)
	default:
		p.heard = id
		g.note(p, "routed", int64(id.unit), int64(id.n))
		return id, true
	}
	return id, false
}

// fits checks a message that the player has received on link l against its lists.
func (p *player) fits(l *link, m *packet) {
	canary, id, whole := parsePayload(m.Payload)
	sender := p.game.senderOf(id.from)
	switch {
	case !whole:
		p.failf("RL-4: payload of %d bytes reached player %d damaged", len(m.Payload), p.index)
		return
	case canary != p.game.canary:
		p.failf("RL-11: player %d of game %d got a message of another game session", p.index, p.game.index)
		return
	case m.Sender != sender:
		p.failf("RL-10: message %v reached player %d as one of peer %d, not %d", id, p.index, m.Sender, sender)
		return
	}
	if m.OpCode == opFast {
		p.fitsFast(id)
		return
	}
	st, at := p.find(id)
	switch {
	case st == nil:
		p.failf("RL-11: message %v reached player %d, to whom it was not sent", id, p.index)
		return
	case l.presence == nil:
		p.resumesAt(l, st, at)
		l.presence = st
	case l.presence != st:
		p.failf("RL-11: message %v of presence %d reached player %d on a connection of presence %d", id, st.number, p.index, l.presence.number)
		return
	case at < l.at:
		p.failf("RL-3: message %v (%d) reached player %d again, after %d", id, at, p.index, l.at-1)
	case at > l.at && p.plan.gap && (p.flavor != v2 || at-l.at <= l.dev.missing):
		l.dev.missing -= min(l.dev.missing, at-l.at)
		p.note(p, "gap", int64(l.number), int64(at-l.at))
	case at > l.at:
		p.failf("RL-1: message %v (%d) reached player %d after %d: %v is missing", id, at, p.index, l.at-1, st.want[l.at].id)
	}
	l.at = at + 1
	l.dev.at = l.at
	st.furthest = max(st.furthest, l.at)
}

// resumesAt checks the position in a presence at which a connection begins.
func (p *player) resumesAt(l *link, st *presence, at int) {
	d := l.dev
	next, same := st.furthest, d.cur == st
	if same && p.flavor == v2 {
		next = d.at
	}
	d.cur = st
	switch {
	case p.flavor == mute && at >= next: // delivered at most once, so it may skip messages
	// the host cannot know that the player echoes marks
	case at > next && p.plan.budget > 0 && p.flavor == stockish && p.surely(st) == 0:
	// a device without history does not miss anything
	case at > next && p.plan.gap && (p.flavor == stockish || d.gap && at-next <= d.missing || l.fresh):
		d.missing -= min(d.missing, at-next)
		p.note(p, "gap", int64(l.number), int64(at-next))
	case at > next:
		p.failf("RL-1: connection %d of player %d begins with %v (%d) of presence %d: %v (%d) is missing",
			l.number, p.index, st.want[at].id, at, st.number, st.want[next].id, next)
	case at == next:
	case p.flavor == v2 && same:
		p.failf("RL-3: connection %d of player %d begins with %v (%d), which it had: it was at %d", l.number, p.index, st.want[at].id, at, next)
	case p.flavor == mute && !p.muteSince.IsZero() && p.muteSince.Before(l.lossAt.Add(-2*time.Second)):
		p.failf("RL-3: connection %d of player %d, who cannot say what it has, begins with %d again: it was at %d", l.number, p.index, at, next)
	case p.flavor == stockish && at < p.surely(st):
		p.failf("RL-3: connection %d of player %d begins with %v (%d), before its last mark at %d", l.number, p.index, st.want[at].id, at, p.surely(st))
	}
	p.note(p, "begins", int64(l.number), int64(at))
	d.gap = false
	if at < next {
		p.note(p, "begins with what it had", int64(l.number), int64(next-at))
	}
}

// fitsFast checks a received message that was sent as fast (RL-5).
func (p *player) fitsFast(id uid) {
	st := p.presence
	switch _, sent := st.fast[id]; {
	case !sent:
		p.failf("RL-5: fast message %v reached player %d unasked, or twice", id, p.index)
	case id.n < st.lastFast:
		p.failf("RL-5: fast message %v reached player %d after %d", id, p.index, st.lastFast)
	}
	delete(st.fast, id)
	st.lastFast = id.n
	p.seen["fast"]++
}

// find searches the player's presences for a message.
func (p *player) find(id uid) (*presence, int) {
	for i := len(p.presences) - 1; i >= 0; i-- {
		if at, ok := p.presences[i].at[id]; ok {
			return p.presences[i], at
		}
	}
	return nil, 0
}

func (g *game) senderOf(from uint8) int32 {
	if from == serverSender {
		return int32(messages.ServerPeer)
	}
	if int(from) < len(g.players) {
		return int32(g.players[from].peer)
	}
	return 0
}

// OnPlayerDetached begins a reconnect window. The player's connection must have had a fault (reliability.md
// 2.7), and the host must have noticed it in time.
func (g *game) OnPlayerDetached(peer messages.PeerID, _ string) script.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.roster[peer]
	if p == nil {
		g.failf("RL-13: Detached for peer %d, who is not in the game", peer)
		return script.Hold
	}
	g.note(p, "detached", int64(peer), 0)
	switch {
	case p.plan.window == 0:
		g.failf("RL-14: player %d is detached in strict mode", p.index)
	case !p.lostAt.IsZero():
		g.failf("RL-8: player %d is detached twice", p.index)
	default:
		p.noticed()
	}
	if p.mayLeave == "left" {
		p.mayLeave = "left too late" // the host was already closing the connection, so this is a loss and not a leave
	}
	p.lostAt = time.Now()
	return script.Hold
}

// noticed checks that the host had a reason to regard a player as lost, and that it noticed in time
// (reliability.md 2.7).
func (p *player) noticed() {
	now := time.Now()
	const beat = 250 * time.Millisecond
	silence := max(2*p.plan.ping, p.plan.silence) + 2*beat
	switch {
	case p.game.ending:
	case p.brokenAt.IsZero() && p.mayLeave == "" && p.plan.budget == 0:
		p.failf("RL-8: player %d is lost, and its connection is well", p.index)
	case now.After(p.spokeAt().Add(silence + 2*time.Second)):
		p.failf("RL-14: the host notices at %v that player %d said its last word at %v", p.since(now), p.index, p.since(p.spokeAt()))
	}
}

// spokeAt returns when the player last sent something to the host.
func (p *player) spokeAt() time.Time {
	if at := time.Unix(0, p.spokeKCP.Load()); at.After(p.spoke) {
		return at
	}
	return p.spoke
}

// OnPlayerReconnected ends a reconnect window, or reports that a connection was replaced.
func (g *game) OnPlayerReconnected(peer messages.PeerID, info script.Reconnected) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.roster[peer]
	if p == nil {
		g.failf("RL-13: Reconnected for peer %d, who is not in the game", peer)
		return
	}
	g.note(p, "reconnected", int64(info.Resent), int64(info.Away/time.Millisecond))
	p.lost += int(info.Lost)
	away := time.Duration(0)
	if !p.lostAt.IsZero() {
		away = time.Since(p.lostAt)
	}
	switch {
	case p.plan.window == 0:
		g.failf("RL-12: player %d resumes in strict mode", p.index)
	case info.Lost != 0 && !p.plan.gap:
		g.failf("RL-2: the game is told that player %d has lost %d messages", p.index, info.Lost)
	case info.Takeover != p.lostAt.IsZero() || (info.Away-away).Abs() > time.Second:
		g.failf("RL-14: the game is told %+v of player %d, who was away for %v", info, p.index, away)
	case away > p.plan.window+time.Second:
		g.failf("RL-14: player %d is back after %v", p.index, away)
	}
	p.lostAt = time.Time{}
}

// left checks that a presence is allowed to end now: the player has asked for it, or its window is over
// (RL-2, RL-14). The caller holds the lock.
func (p *player) left() {
	lost := p.lostAt
	p.lostAt = time.Time{}
	if p.mayLeave != "" || p.game.ending {
		return
	}
	if p.plan.window == 0 {
		p.note(p, "out at once", 0, 0)
		p.noticed()
		return
	}
	p.note(p, "window over", 0, 0)
	if p.plan.budget > 0 && time.Since(lost) < p.plan.window-time.Second {
		p.note(p, "out for want of room", 0, 0)
	} else if lost.IsZero() {
		p.failf("RL-2: player %d is out, and was not lost before", p.index)
	} else if passed := time.Since(lost); (passed - p.plan.window).Abs() > time.Second {
		p.failf("RL-14: player %d is out %v after its loss, its window is %v", p.index, passed, p.plan.window)
	}
}

func (p *player) String() string { return fmt.Sprintf("player %d (%v)", p.index, p.flavor) }

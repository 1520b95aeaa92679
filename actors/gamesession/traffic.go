package gamesession

import (
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/group"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// onInbound handles a player's packet. While a group operation or a decision of the game is pending for the player, its
// further packets wait in the stash. A message that follows a join is thus sent by a member of the group.
func (a *Actor) onInbound(in *Inbound) {
	s := a.byPlayer[in.From]
	if s == nil || !s.inRoster() || a.phase > ending {
		a.c.Counters().Dropped.Add(counters.DropPlayerGone, 1)
		in.Release()
		return
	}
	numbered := in.Number != 0
	if numbered && !a.inOrder(s, in) {
		in.Release()
		return
	}
	if in.Epoch < s.epoch { // stale: the player has already sent newer packets on a later connection (RL-8)
		a.c.Counters().OldEpochs.Add(1)
		in.Release()
		return
	}
	s.epoch = in.Epoch
	s.received++
	if s.busy() {
		if len(s.stash) >= stashMax {
			a.c.Counters().Dropped.Add(counters.DropStashFull, 1)
			if in.Reliable && s.ref != nil { // RL-2: a lost reliable message ends the player session
				s.ref.Tell(player.Kick{Reason: "too many messages behind a question to the game"})
			}
			in.Release()
			return
		}
		s.stash = append(s.stash, in)
	} else {
		a.handle(s, in)
	}
	if numbered {
		a.scheduleAck(s)
	}
}

// inOrder reports whether a packet has the next expected number. If so, it records the packet as received.
func (a *Actor) inOrder(s *playerSession, in *Inbound) bool {
	switch s.player.Out.Receive(in.Epoch, in.Number) {
	case player.Duplicate:
		a.c.Counters().Duplicates.Add(1)
		return false
	case player.Late:
		a.c.Counters().OldEpochs.Add(1)
		return false
	case player.Violation:
		a.c.Counters().Dropped.Add(counters.DropOutOfOrder, 1)
		s.player.Tell(player.OutOfOrder{Epoch: in.Epoch})
		return false
	}
	return true
}

// scheduleAck arranges for received packets to be acknowledged (reliability.md 2.4). A message to the player carries
// the ack. If there is none, a separate ack is sent after ackEvery packets or after ackDelay.
func (a *Actor) scheduleAck(s *playerSession) {
	switch n := s.player.Out.UnackedAlone(); {
	case n >= ackEvery:
		a.ack(s)
	case n > 0 && !s.ackPending:
		s.ackPending = true
		switch a.acksPending = append(a.acksPending, s); {
		case len(a.acksPending) > 1:
		case a.ackTimer == nil:
			a.ackTimer = a.c.After(ackDelay, ackDue{})
		default:
			a.ackTimer.Reset(ackDelay)
		}
	}
}

func (a *Actor) ack(s *playerSession) {
	if s.player.Out.AckNow() != player.PushNothing {
		a.c.Dirty(s.player.Out)
	}
}

// onAckDue sends acks for packets that no message to a player has acknowledged yet.
func (a *Actor) onAckDue() {
	for i, s := range a.acksPending {
		if s.ackPending = false; s.player.Out.Unacked() > 0 {
			a.ack(s)
		}
		a.acksPending[i] = nil
	}
	a.acksPending = a.acksPending[:0]
}

// busy reports whether the player's further packets must wait.
func (s *playerSession) busy() bool { return s.groupOp.group != 0 || s.gate != nil }

// handle handles one packet. It releases in, either at once or after the game's decision.
func (a *Actor) handle(s *playerSession, in *Inbound) {
	switch in.Kind {
	case Application:
		a.onApplication(s, in)
	case JoinGroup, LeaveGroup:
		a.onGroupOperation(s, in.Group, in.Kind == JoinGroup)
	case RequestMembership:
		s.player.Give(a.c, wire.NewMembershipUpdate(int32(s.player.Peer), int32(s.player.Peer), int32(in.Group), a.peersOf(in.Group))) // D-110
	case Ping:
		f := wire.NewPingResult(int32(s.player.Peer))
		s.player.Deliver(a.c, f, in.Reliable)
		f.Release()
	}
	if s.gated != in {
		in.Release()
	}
}

// gate applies the game's decision on a packet. If the decision is asynchronous, the player's next packets wait for it.
func (a *Actor) gate(s *playerSession, in *Inbound, ok bool, p *script.Pending) {
	switch {
	case p != nil:
		s.gate, s.gated = p, in
		a.await(p, gateLimit, func(ok bool) {
			if s.gate != p {
				return // dropStash was called, because the player is gone
			}
			s.gate, s.gated = nil, nil
			if !ok || a.phase <= ending {
				a.gate(s, in, ok, nil)
			}
			in.Release()
			a.unstash(s)
		})
	case ok:
		a.pass(s, in)
	default:
		a.c.Counters().Dropped.Add(counters.DropRefusedByHandler, 1)
	}
}

// pass delivers a packet that the game has allowed, unless it exceeds the limit on players' deliveries. The sender
// counts as one of the group's recipients.
func (a *Actor) pass(s *playerSession, in *Inbound) {
	if in.Frame.TargetPlayer() > 0 {
		a.passToPlayer(s, in)
		return
	}
	id := messages.GroupID(in.Frame.TargetGroup())
	n, members := a.recipients(id)
	if a.fanout.allow(n, in.Reliable) {
		a.deliver(id, members, in.Frame, in.Reliable)
	} else {
		a.c.Counters().Dropped.Add(counters.DropDeliveryRate, int64(n))
	}
}

func (a *Actor) onApplication(s *playerSession, in *Inbound) {
	to, f := toServer, in.Frame
	if f != nil {
		to = route(f.OpCode(), messages.PeerID(f.TargetPlayer()), messages.GroupID(f.TargetGroup()))
	}
	switch to {
	case toServer:
		if a.relay {
			a.c.Counters().Dropped.Add(counters.DropNoHandler, 1)
			return
		}
		m := a.scriptMessage(in)
		a.callback("onMessage", func() { a.o.Handler.OnMessage(m) })
	case toPlayer:
		a.toPlayer(s, in)
	case toGroup:
		a.toGroup(s, in)
	default:
		a.drop(s, zerolog.WarnLevel, counters.DropNoTarget)
	}
}

func (a *Actor) toPlayer(s *playerSession, in *Inbound) {
	if a.relay {
		a.passToPlayer(s, in)
		return
	}
	m := a.scriptMessage(in)
	ok, p := a.ask("onSendToPlayer", func() script.Decision { return a.o.Handler.OnSendToPlayer(m) })
	a.gate(s, in, ok, p)
}

func (a *Actor) passToPlayer(s *playerSession, in *Inbound) {
	target := a.byPeer[messages.PeerID(in.Frame.TargetPlayer())]
	if target == nil || !target.inRoster() {
		a.drop(s, zerolog.DebugLevel, counters.DropUnknownTarget)
		return
	}
	if a.fanout.allow(1, in.Reliable) {
		target.player.Deliver(a.c, in.Frame, in.Reliable)
	} else {
		a.c.Counters().Dropped.Add(counters.DropDeliveryRate, 1)
	}
}

func (a *Actor) toGroup(s *playerSession, in *Inbound) {
	id := messages.GroupID(in.Frame.TargetGroup())
	g := a.groups[id]
	switch {
	case id != messages.AllPlayers && (g == nil || !g.handle.Members().Has(s.player)):
		a.drop(s, zerolog.DebugLevel, counters.DropNotMember)
		a.logNotMember(s, id)
	case a.relay:
		a.pass(s, in)
	default:
		m := a.scriptMessage(in)
		ok, p := a.ask("onSendToGroup", func() script.Decision { return a.o.Handler.OnSendToGroup(m) })
		a.gate(s, in, ok, p)
	}
}

// strayGroupsMax limits the number of lines that logNotMember writes per player.
const strayGroupsMax = 16

// logNotMember logs, once per group, that a player sends messages to a group without being a member. The player itself
// gets no error (realtime.md 10).
func (a *Actor) logNotMember(s *playerSession, id messages.GroupID) {
	if stray := s.has().strayGroups; len(stray) >= strayGroupsMax || slices.Contains(stray, id) {
		return
	}
	rare := s.seldom()
	rare.strayGroups = append(rare.strayGroups, id)
	a.o.Log.Host(script.LevelWarn, fmt.Sprintf("player %d sends messages to group %d, which it is not in: they reach nobody", s.player.Peer, id))
}

// onLimited writes to the game session's log that a limit has dropped a player's packets or closed its connection. It
// does so once per player and limit. The sender gets no error, and the game's developer may not have access to the
// host's log.
func (a *Actor) onLimited(m Limited) {
	s := a.byPlayer[m.From]
	if s == nil || slices.Contains(s.has().limited, m.Why) {
		return
	}
	rare := s.seldom()
	rare.limited = append(rare.limited, m.Why)
	a.o.Log.Host(script.LevelWarn, fmt.Sprintf("player %d %s", s.player.Peer, m.Text))
}

// recipients returns the number of members of a group and the members themselves. For group -1 it returns only the
// number.
func (a *Actor) recipients(id messages.GroupID) (n int, members group.Snapshot) {
	if id == messages.AllPlayers {
		return len(a.roster), nil
	}
	if g := a.groups[id]; g != nil {
		members = g.handle.Members()
	}
	return len(members), members
}

func (a *Actor) deliver(id messages.GroupID, members group.Snapshot, f *wire.Frame, reliable bool) {
	if id == messages.AllPlayers {
		for _, s := range a.roster {
			s.player.Deliver(a.c, f, reliable)
		}
	}
	for _, p := range members {
		p.Deliver(a.c, f, reliable)
	}
}

// scriptMessage fills the script.Message that all callbacks share. The message is valid only during one callback.
func (a *Actor) scriptMessage(in *Inbound) *script.Message {
	f := in.Frame
	if f == nil {
		a.message = script.Message{
			OpCode: in.opCode, Sender: in.From.Peer, Reliable: in.Reliable, Payload: in.payload,
			TargetPlayer: messages.PeerID(in.targetPlayer), TargetGroup: messages.GroupID(in.targetGroup),
		}
		return &a.message
	}
	a.message = script.Message{
		OpCode: f.OpCode(), Sender: messages.PeerID(f.Sender()), Reliable: in.Reliable, Payload: f.Payload(),
		TargetPlayer: messages.PeerID(f.TargetPlayer()), TargetGroup: messages.GroupID(f.TargetGroup()),
	}
	return &a.message
}

// drop counts a dropped packet and logs a sample of the drops, so that players cannot flood the log (realtime.md 10,
// 11).
func (a *Actor) drop(s *playerSession, level zerolog.Level, d counters.Drop) {
	a.c.Counters().Dropped.Add(d, 1)
	a.drops.WithLevel(level).Str("game_session_id", string(a.record.ID)).Int32("peer", int32(s.player.Peer)).
		Str("reason", d.String()).Msg("packet dropped")
}

// unstash handles waiting packets until one of them makes the player busy again. When none is left, it forwards the
// pending ends of connections.
func (a *Actor) unstash(s *playerSession) {
	for !s.busy() && len(s.stash) > 0 {
		in := s.stash[0]
		s.stash[0] = nil
		s.stash = s.stash[1:]
		if s.inRoster() && a.phase <= ending {
			a.handle(s, in)
		} else {
			in.Release()
		}
	}
	if len(s.stash) > 0 || s.busy() {
		return
	}
	s.stash = nil
	ends := s.has().connectionEnds
	if len(ends) == 0 {
		return
	}
	s.rare.connectionEnds = nil
	for _, m := range ends {
		m.Player.Tell(m)
	}
}

func (a *Actor) dropStash(s *playerSession) {
	for _, in := range s.stash {
		in.Release()
	}
	if s.gated != nil {
		s.gated.Release()
	}
	s.groupOp, s.gate, s.gated, s.stash = groupOp{}, nil, nil, nil
	if s.rare != nil {
		s.rare.connectionEnds = nil
	}
}

// onEnded forwards the end of a connection to the player actor, after all packets that were read from the connection.
func (a *Actor) onEnded(m player.Ended) {
	if s := a.byPlayer[m.Player]; s != nil && (len(s.stash) > 0 || s.gate != nil) {
		rare := s.seldom()
		rare.connectionEnds = append(rare.connectionEnds, m)
		return
	}
	m.Player.Tell(m)
}

// fanoutLimit is a token bucket with a burst of one second. It limits the deliveries that players or the game cause
// (reliability.md 5.2). Reliable messages always pass and may create a debt. Unreliable messages are dropped until the
// debt is paid.
type fanoutLimit struct {
	perSecond int // 0 means no limit
	debtMax   int // largest debt, in seconds' worth of perSecond
	tokens    float64
	at        time.Time
}

func (l *fanoutLimit) allow(n int, reliable bool) bool {
	if l.perSecond <= 0 {
		return true
	}
	now := time.Now()
	most := float64(l.perSecond)
	if l.at.IsZero() {
		l.tokens = most
	} else {
		l.tokens = min(most, l.tokens+now.Sub(l.at).Seconds()*most)
	}
	l.at = now
	if l.tokens < float64(n) && !reliable {
		return false
	}
	l.tokens = max(l.tokens-float64(n), -most*float64(l.debtMax))
	return true
}

// exhausted reports whether the debt has reached debtMax.
func (l *fanoutLimit) exhausted() bool {
	return l.perSecond > 0 && l.tokens <= -float64(l.perSecond)*float64(l.debtMax)
}

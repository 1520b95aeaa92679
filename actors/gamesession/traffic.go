package gamesession

import (
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// onInbound handles one packet of a player. What follows a group operation of
// the same player waits until the group has answered, so that a join and the
// message behind it keep their order.
func (a *Actor) onInbound(in *Inbound) {
	s := a.byPlayer[in.From]
	if s == nil || !s.in || a.phase > ending {
		a.c.Counters().Dropped.Add(counters.DropPlayerGone, 1)
		in.Release()
		return
	}
	numbered := in.Number != 0
	if numbered && !a.inOrder(s, in) {
		in.Release()
		return
	}
	if in.Epoch < s.epoch { // it would overtake, backwards, what the player has said since (RL-8)
		a.c.Counters().OldEpochs.Add(1)
		in.Release()
		return
	}
	s.epoch = in.Epoch
	if s.busy() {
		if len(s.stash) >= stashMax {
			a.c.Counters().Dropped.Add(counters.DropStashFull, 1)
			if in.Reliable && s.ref != nil { // RL-2: what is lost ends the player session
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
		a.seeToAck(s)
	}
}

// inOrder takes the number of a packet and reports whether it is the next.
func (a *Actor) inOrder(s *seat, in *Inbound) bool {
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

// seeToAck has what came of a player acknowledged: by what goes back to it anyway,
// at once after some packets, else soon (reliability.md 2.4).
func (a *Actor) seeToAck(s *seat) {
	switch n := s.player.Out.UnackedAlone(); {
	case n >= ackEvery:
		a.ack(s)
	case n > 0 && !s.owed:
		s.owed = true
		if a.owed = append(a.owed, s); len(a.owed) == 1 {
			a.soon(&a.ackTimer, ackDelay, ackDue{})
		}
	}
}

// ack sends an ack with this batch, on whatever else there is.
func (a *Actor) ack(s *seat) {
	if s.player.Out.AckNow() != player.PushNothing {
		a.c.Dirty(s.player.Out)
	}
}

// onAckDue acknowledges what found nothing to ride on.
func (a *Actor) onAckDue() {
	for i, s := range a.owed {
		if s.owed = false; s.player.Out.Unacked() > 0 {
			a.ack(s)
		}
		a.owed[i] = nil
	}
	a.owed = a.owed[:0]
}

// soon runs a timer of the actor's own, made when it is first needed.
func (a *Actor) soon(t **stage.Timer, d time.Duration, msg any) {
	if *t == nil {
		*t = a.c.After(d, msg)
		return
	}
	(*t).Reset(d)
}

// busy reports whether what the player sends has to wait.
func (s *seat) busy() bool { return s.op.group != 0 || s.asked != nil }

// handle does what a player wants, and releases in, now or later.
func (a *Actor) handle(s *seat, in *Inbound) {
	switch in.Kind {
	case Application:
		a.onApplication(s, in)
	case JoinGroup:
		a.onJoinGroup(s, in.Group)
	case LeaveGroup:
		a.onLeaveGroup(s, in.Group)
	case RequestMembership:
		s.player.Give(a.c, wire.NewMembershipUpdate(int32(s.player.Peer), int32(s.player.Peer), int32(in.Group), a.peersOf(in.Group)))
	case Ping:
		f := wire.NewPingResult(int32(s.player.Peer))
		s.player.Deliver(a.c, f, in.Reliable)
		f.Release()
	}
	if s.held != in {
		in.Release()
	}
}

// gate does what the game decided on what a player sends. If that takes time, the
// player's next messages wait.
func (a *Actor) gate(s *seat, in *Inbound, ok bool, p *script.Pending) {
	switch {
	case p != nil:
		s.asked, s.held = p, in
		a.await(p, gateLimit, func(ok bool) { a.gateAnswered(s, p, ok) })
	case ok:
		a.pass(s, in)
	default:
		a.c.Counters().Dropped.Add(counters.DropRefusedByHandler, 1)
	}
}

// gateAnswered goes on where gate has left off.
func (a *Actor) gateAnswered(s *seat, p *script.Pending, ok bool) {
	if s.asked != p {
		return // the player is gone
	}
	in := s.held
	s.asked, s.held = nil, nil
	switch {
	case !ok:
		a.c.Counters().Dropped.Add(counters.DropRefusedByHandler, 1)
	case a.phase <= ending:
		a.pass(s, in)
	}
	in.Release()
	a.unstash(s)
}

// pass delivers what has passed its gate.
func (a *Actor) pass(s *seat, in *Inbound) {
	if in.Frame.TargetPlayer() > 0 {
		a.passToPlayer(s, in)
	} else {
		a.fanOut(messages.GroupID(in.Frame.TargetGroup()), in.Frame, in.Reliable)
	}
}

// onApplication routes one application message (realtime.md 10).
func (a *Actor) onApplication(s *seat, in *Inbound) {
	f := in.Frame
	switch route(f.OpCode(), messages.PeerID(f.TargetPlayer()), messages.GroupID(f.TargetGroup())) {
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

func (a *Actor) toPlayer(s *seat, in *Inbound) {
	if a.relay {
		a.passToPlayer(s, in)
		return
	}
	m := a.scriptMessage(in)
	ok, p := a.ask("onSendToPlayer", func() script.Decision { return a.o.Handler.OnSendToPlayer(m) })
	a.gate(s, in, ok, p)
}

func (a *Actor) passToPlayer(s *seat, in *Inbound) {
	target := a.byPeer[messages.PeerID(in.Frame.TargetPlayer())]
	if target == nil || !target.in {
		a.drop(s, zerolog.DebugLevel, counters.DropUnknownTarget)
		return
	}
	if a.fanout.allow(1, in.Reliable) {
		target.player.Deliver(a.c, in.Frame, in.Reliable)
	} else {
		a.c.Counters().Dropped.Add(counters.DropDeliveryRate, 1)
	}
}

func (a *Actor) toGroup(s *seat, in *Inbound) {
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

// strangeGroupsMax bounds for how many groups of a player sayStranger writes a line.
const unjoinedGroupsMax = 16

// sayStranger writes into the game session's log that a player sends to a group that it is
// not in, once for each group: the player is told nothing (realtime.md 10).
func (a *Actor) logNotMember(s *seat, group messages.GroupID) {
	if len(s.unjoined) >= unjoinedGroupsMax || slices.Contains(s.unjoined, group) {
		return
	}
	s.unjoined = append(s.unjoined, group)
	a.o.Log.Host(script.LevelWarn, fmt.Sprintf("player %d sends messages to group %d, which it is not in: they reach nobody", s.player.Peer, group))
}

// fanOut delivers one frame to all members of a group, the sender included.
func (a *Actor) fanOut(id messages.GroupID, f *wire.Frame, reliable bool) {
	if id == messages.AllPlayers {
		if !a.fanout.allow(len(a.roster), reliable) {
			a.c.Counters().Dropped.Add(counters.DropDeliveryRate, int64(len(a.roster)))
			return
		}
		for _, m := range a.roster {
			m.player.Deliver(a.c, f, reliable)
		}
		return
	}
	g := a.groups[id]
	if g == nil {
		return
	}
	members := g.handle.Members()
	if !a.fanout.allow(len(members), reliable) {
		a.c.Counters().Dropped.Add(counters.DropDeliveryRate, int64(len(members)))
		return
	}
	for _, m := range members {
		m.Deliver(a.c, f, reliable)
	}
}

// scriptMessage fills the one script.Message that callbacks see.
func (a *Actor) scriptMessage(in *Inbound) *script.Message {
	f := in.Frame
	a.message = script.Message{
		OpCode: f.OpCode(), Sender: messages.PeerID(f.Sender()), Reliable: in.Reliable, Payload: f.Payload(),
		TargetPlayer: messages.PeerID(f.TargetPlayer()), TargetGroup: messages.GroupID(f.TargetGroup()),
	}
	return &a.message
}

// drop counts a packet that goes no further, and logs some of it at a level
// (realtime.md 10 and 11): players decide how much there would be to say.
func (a *Actor) drop(s *seat, level zerolog.Level, d counters.Drop) {
	a.c.Counters().Dropped.Add(d, 1)
	a.drops.WithLevel(level).Str("game_session_id", string(a.record.ID)).Int32("peer", int32(s.player.Peer)).
		Str("reason", d.String()).Msg("packet dropped")
}

// unstash handles what waited for a group operation, up to the next one.
func (a *Actor) unstash(s *seat) {
	for !s.busy() && len(s.stash) > 0 {
		in := s.stash[0]
		s.stash[0] = nil
		s.stash = s.stash[1:]
		if s.in && a.phase <= ending {
			a.handle(s, in)
		} else {
			in.Release()
		}
	}
	if len(s.stash) > 0 || s.busy() {
		return
	}
	s.stash = nil
	for _, m := range s.ended {
		m.Player.Tell(m)
	}
	s.ended = nil
}

func (a *Actor) dropStash(s *seat) {
	for _, in := range s.stash {
		in.Release()
	}
	if s.held != nil {
		s.held.Release()
	}
	s.op, s.asked, s.held, s.stash, s.ended = groupOp{}, nil, nil, nil, nil
}

// onEnded passes the end of a connection on to its player, behind what was read
// from it.
func (a *Actor) onEnded(m player.Ended) {
	if s := a.byPlayer[m.Player]; s != nil && (len(s.stash) > 0 || s.asked != nil) {
		s.ended = append(s.ended, m)
		return
	}
	m.Player.Tell(m)
}

// fanoutLimit bounds how many deliveries the players of one game session, or its
// own logic, may cause (reliability.md 5.2): a bucket of one second. Reliable
// messages pass, so that none is lost, but their debt keeps the fast ones out.
type fanoutLimit struct {
	perSecond int // 0 is no bound
	debtMax   int // in seconds
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

// broke reports whether the debt is as large as it may be.
func (l *fanoutLimit) broke() bool {
	return l.perSecond > 0 && l.tokens <= -float64(l.perSecond)*float64(l.debtMax)
}

package gamesession

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// newPlayerSessionID returns `psess-` and 128 random bits in the shape of a
// UUID (reliability.md 2.2: a version 4 UUID has six bits less).
func newPlayerSessionID() messages.PlayerSessionID {
	var id uuid.UUID
	rand.Read(id[:]) // never fails since Go 1.24
	return messages.PlayerSessionID("psess-" + id.String())
}

// onCreatePlayers reserves seats, all or none (service-api.md 2.7).
func (a *Actor) onCreatePlayers(m CreatePlayers) {
	n := len(m.Request.Players)
	g := a.o.Published.session.Load()
	switch free := g.MaxPlayers - (len(a.order) - a.finished); {
	case a.phase != active:
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s, not ACTIVE", a.record.ID, a.record.Status))
		return
	case !g.AcceptsPlayers:
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s does not accept new player sessions", a.record.ID))
		return
	case n > free:
		m.Reply(nil, messages.Errorf(messages.GameSessionFull, "game session %s has %d free seats, %d are needed", a.record.ID, max(0, free), n)) // the maximum may be below what there is
		return
	}
	now := a.c.Now()
	made := SeatsMade{Session: a.record.ID, Reply: m.Reply, published: a.o.Published}
	for _, who := range m.Request.Players {
		s := a.newSeat(who, now)
		made.views = append(made.views, s.view)
		made.Seats = append(made.Seats, s.view.record(&a.record))
	}
	a.reserveViews(made.views)
	a.o.Fleet.Tell(made)
}

// onSeatsStored gives seats that were refused to others, and tells of what has become of
// the others meanwhile.
func (a *Actor) onSeatsStored(m SeatsStored) {
	for _, id := range m.IDs {
		s := a.byID[id]
		if s == nil {
			continue
		}
		s.unstored, s.unmade = false, m.Refused
		if !m.Refused {
			a.tellSeat(s)
		} else if s.ref != nil {
			s.player.Tell(player.Kick{})
		}
	}
}

// full reports whether no further player may come in: as many as the script or the
// game session allows are there.
func (a *Actor) full() bool {
	return len(a.roster)+a.joining >= min(a.playersMax, max(a.o.Published.session.Load().MaxPlayers, 0))
}

func (a *Actor) newSeat(who messages.NewPlayer, now time.Time) *seat {
	h := player.NewHandle(newPlayerSessionID(), who, now, a.o.Budget, a.c.Counters())
	s := &seat{player: h, durable: player.NewDurable(h), unstored: true,
		told: messages.PlayerSessionReserved, view: &playerSessionView{id: h.ID, playerID: who.PlayerID, data: who.PlayerData, created: now}}
	s.view.set(messages.PlayerSessionReserved, now)
	a.byID[h.ID], a.byPlayer[h] = s, s
	a.order = append(a.order, s)
	a.spawnPlayer(s)
	return s
}

func (a *Actor) spawnPlayer(s *seat) {
	self := a.c.Self()
	s.ref = a.c.Stage().NewRefBeside(self, counters.ActorPlayer, stage.LaneLimits{})
	s.player.SetActor(s.ref)
	a.byRef[s.ref] = s
	activate := s.view.activate
	if s.again {
		activate = s.view.reactivate
	}
	a.c.Spawn(s.ref, player.New(player.Options{
		Session: self,
		Rules:   player.Rules{Window: a.window > 0, Takeover: a.o.Takeover, Rejoin: a.o.Rejoin && a.window > 0},
		Window:  a.window, PingInterval: a.ping, Activate: activate, Inflow: a.inflow,
		Acknowledge: a.o.Acknowledge, SkipAmbiguous: a.o.SkipAmbiguous,
	}, s.durable))
}

// replacePlayer restarts a crashed player actor with its durable part, or, over
// the limit, ends the player session (reliability.md 4).
func (a *Actor) replacePlayer(s *seat) {
	if a.phase >= closing || !s.again && s.view.state().Final() {
		s.player.Close()
		return
	}
	if s.restarts.allow(time.Now().UnixNano(), playerRestarts) {
		a.c.Counters().Restarts.Add(counters.ActorPlayer, 1)
		a.spawnPlayer(s)
		if s.kick != nil {
			s.player.Tell(*s.kick)
		}
		return
	}
	a.c.Log().Error().Str("game_session_id", string(a.record.ID)).Str("player_session", s.player.ID.Short()).
		Msg("player restarted too often: its player session ends")
	if s.waiting {
		a.releasePeer(s)
	}
	status := messages.PlayerSessionTimedOut
	if s.in {
		status = messages.PlayerSessionCompleted
	}
	a.remove(s, func() {
		a.setPlayerStatus(s, status)
		s.player.Close()
		a.endIfLast()
	})
}

// onLogin checks what the game session knows and leaves the rest to the player
// (realtime.md 6.1 step 3, D-104).
func (a *Actor) onLogin(l *player.Login) {
	s := a.byID[l.ID]
	switch {
	case s == nil:
		l.From.Refuse(0)
	case a.phase != active:
		a.refuse(l, wire.RefusedEnded)
	case s.leaving && s.ref != nil: // its actor is on its way out
		if s.late != nil {
			s.late.From.Refuse(player.RetrySoon)
		}
		s.late = l
	case s.ref == nil:
		a.rejoin(s, l)
	case !s.in && !s.waiting && a.full():
		a.refuse(l, wire.RefusedFull)
	default:
		s.ref.Tell(l)
	}
}

// refuse refuses a login with a player session that this game session knows.
func (a *Actor) refuse(l *player.Login, why wire.Refusal) {
	a.c.Log().Info().Str("game_session_id", string(a.record.ID)).Str("player_session", l.ID.Short()).Str("reason", why.String()).Msg("login refused")
	l.From.Because(why)
	l.From.Refuse(0)
}

// rejoin lets a player that has left come again, if there is room: the same peer
// id, and a fresh start in everything else (D-2).
func (a *Actor) rejoin(s *seat, l *player.Login) {
	free := a.o.Published.session.Load().MaxPlayers - (len(a.order) - a.finished)
	switch {
	case !a.o.Rejoin || a.window == 0 || !s.left || l.Token != "":
		a.refuse(l, wire.RefusedSeat)
		return
	case free <= 0 || a.full():
		a.refuse(l, wire.RefusedFull)
		return
	}
	old := s.player
	h := player.NewHandle(old.ID, messages.NewPlayer{PlayerID: old.PlayerID, PlayerData: old.Data}, old.Created, a.o.Budget, a.c.Counters())
	h.Peer = old.Peer
	delete(a.byPlayer, old)
	a.byPlayer[h] = s
	s.player, s.durable = h, player.NewStayDurable(h)
	s.again, s.left, s.leaving, s.kick, s.epoch = true, false, false, nil, 0
	a.finished--
	a.countPlaces(s)
	a.spawnPlayer(s)
	s.ref.Tell(l)
}

// onGateAsked asks the game about a login.
func (a *Actor) onGateAsked(m player.GateAsked) {
	s := a.byPlayer[m.Player]
	if s == nil || s.ref == nil {
		return
	}
	if a.phase != active || a.full() {
		why := wire.RefusedFull
		if a.phase != active {
			why = wire.RefusedEnded
		}
		s.ref.Tell(player.GateAnswer{Attempt: m.Attempt, Why: why})
		return
	}
	s.waiting = true
	a.joining++
	if !s.again {
		s.player.Peer = a.peers.next()
	}
	a.byPeer[s.player.Peer] = s
	if a.relay {
		a.answerGate(s, m.Attempt, true)
		return
	}
	msg := &script.ConnectMessage{Player: scriptPlayer(s.player), Payload: m.Payload}
	ok, p := a.ask("onPlayerConnect", func() script.Decision { return a.o.Handler.OnPlayerConnect(msg) })
	if p == nil {
		a.answerGate(s, m.Attempt, ok)
		return
	}
	s.gate = p
	a.await(p, gateLimit, func(ok bool) {
		if s.gate == p && s.waiting { // else the login has ended meanwhile
			s.gate = nil
			a.answerGate(s, m.Attempt, ok && a.phase == active)
		}
	})
}

// answerGate tells a player what the game decided on its login.
func (a *Actor) answerGate(s *seat, attempt uint64, ok bool) {
	answer := player.GateAnswer{Attempt: attempt, OK: ok, Peer: s.player.Peer}
	if !ok {
		answer.Why = wire.RefusedByGame
		a.c.Log().Info().Str("game_session_id", string(a.record.ID)).Str("player_session", s.player.ID.Short()).Str("reason", answer.Why.String()).Msg("login refused")
		a.releasePeer(s) // at once: the next login may be waiting already
	}
	if s.ref != nil {
		s.ref.Tell(answer)
	}
}

// onJoinOver hears that a login was not accepted after all.
func (a *Actor) onJoinOver(m player.JoinOver) {
	if s := a.byPlayer[m.Player]; s != nil && s.waiting {
		a.releasePeer(s)
	}
	if a.lastOnly {
		a.endIfLast()
	}
}

// releasePeer takes back the peer id of a login that was not accepted, and what
// the game sent to it (D-121).
func (a *Actor) releasePeer(s *seat) {
	s.waiting, s.gate = false, nil
	a.joining--
	delete(a.byPeer, s.player.Peer)
	if !s.again { // else it is its own for ever (RL-9)
		a.peers.giveBack(s.player.Peer)
		s.player.Peer = 0
	}
	s.player.DropHeld()
}

// onAccepted takes the player into the game.
func (a *Actor) onAccepted(m player.Accepted) {
	s := a.byPlayer[m.Player]
	if s == nil || !s.waiting {
		return
	}
	s.waiting, s.in = false, true
	a.joining--
	a.roster = append(a.roster, s)
	a.inflow.SetPlayers(len(a.roster))
	a.setPlayerStatus(s, messages.PlayerSessionActive)
	a.announceJoin(s)
	if !a.relay {
		a.callback("onPlayerAccepted", func() { a.o.Handler.OnPlayerAccepted(scriptPlayer(s.player)) })
	}
}

// onWentAway asks the game whether it waits for a lost player (D-6).
func (a *Actor) onWentAway(m player.WentAway) {
	a.c.Log().Info().Str("game_session_id", string(a.record.ID)).Int32("peer", int32(m.Player.Peer)).
		Str("player_session", m.Player.ID.Short()).Str("reason", m.Reason).Msg("player detached")
	if s := a.byPlayer[m.Player]; s == nil || !s.in || a.relay {
		return
	}
	release := func(hold bool) {
		if !hold {
			m.Player.Tell(player.Release{Epoch: m.Epoch})
		}
	}
	d := script.Hold // if it fails, or takes too long
	a.callback("onPlayerDetached", func() { d = a.o.Handler.OnPlayerDetached(m.Player.Peer, m.Reason) })
	if p := d.Pending(); p != nil {
		a.await(p, gateLimit, func(ok bool) { release(ok || p.Reason() != "") })
		return
	}
	ok, _ := d.Now()
	release(ok)
}

func (a *Actor) onCameBack(m player.CameBack) {
	a.c.Log().Info().Str("game_session_id", string(a.record.ID)).Int32("peer", int32(m.Player.Peer)).
		Str("player_session", m.Player.ID.Short()).Uint64("epoch", uint64(m.Epoch)).
		Stringer("from", m.From).Stringer("to", m.To).Dur("away_ms", m.Away).Int("resent", m.Replay.Messages).
		Uint64("lost", m.Lost).Msg("player resumed")
	if s := a.byPlayer[m.Player]; s == nil || !s.in || a.relay {
		return
	}
	info := script.Reconnected{Resent: m.Replay.Messages, Lost: m.Lost, Away: m.Away, Takeover: m.Takeover}
	a.callback("onPlayerReconnected", func() { a.o.Handler.OnPlayerReconnected(m.Player.Peer, info) })
}

// onLeaving tells the game, then removes the player (realtime.md 12).
func (a *Actor) onLeaving(m player.IsLeaving) {
	s := a.byPlayer[m.Player]
	if s == nil {
		return
	}
	s.leaving, s.left = true, m.Left
	a.remove(s, func() {
		m.Player.Tell(player.LeaveHandled{})
		a.endIfLast()
	})
}

// remove runs onPlayerDisconnect with the player still in the list, then takes
// it out of the list and of its groups, if it is in. At last it calls then.
func (a *Actor) remove(s *seat, then func()) {
	switch {
	case !s.in:
		then()
	case s.removed != nil: // under way, and its actor has crashed meanwhile
		s.removed = append(s.removed, then)
	case a.relay:
		a.takeOut(s)
		then()
	default:
		s.removed = []func(){then}
		a.resolve("onPlayerDisconnect", gateLimit, func() script.Decision { return a.o.Handler.OnPlayerDisconnect(s.player.Peer) }, func(bool) {
			a.takeOut(s)
			removed := s.removed
			s.removed = nil
			for _, then := range removed {
				then()
			}
		})
	}
}

// takeOut takes a player out of the list and of its groups.
func (a *Actor) takeOut(s *seat) {
	s.in = false
	delete(a.byPeer, s.player.Peer)
	for i, other := range a.roster {
		if other == s {
			a.roster = append(a.roster[:i:i], a.roster[i+1:]...)
			break
		}
	}
	a.inflow.SetPlayers(len(a.roster))
	a.dropStash(s)
	for _, id := range s.player.Groups {
		if g := a.groups[id]; g != nil {
			a.removeGone(g, s.player)
		}
	}
	s.player.Groups = nil
	a.announceLeave(s)
	if len(a.roster) == 0 && a.empty != nil {
		a.empty.Reset(a.o.EmptyTimeout)
	}
}

func (a *Actor) onStatusChanged(m player.StatusChanged) {
	if s := a.byPlayer[m.Player]; s != nil {
		a.setPlayerStatus(s, m.Status)
		if a.lastOnly && m.Status.Final() {
			a.endIfLast()
		}
	}
}

func (a *Actor) setPlayerStatus(s *seat, status messages.PlayerSessionStatus) {
	old := s.view.state()
	switch {
	case s.again && status.Final(): // it was not let in again: as it was before
		s.again, s.left = false, s.kick == nil
	case s.again && status == messages.PlayerSessionActive:
		s.again = false
		s.view.set(status, a.c.Now())
	case old == status, old.Final():
		a.tellSeat(s) // the player has shown it already
		return
	default:
		s.view.set(status, a.c.Now())
	}
	if status.Final() {
		a.finished++
		a.forgetFinished()
	}
	a.countPlaces(s)
	a.tellSeat(s)
}

// tellSeat tells the fleet of a new status, to be stored. The end of the game session
// says all about those that end with it.
func (a *Actor) tellSeat(s *seat) {
	record := s.view.record(&a.record)
	if s.unstored || s.unmade || s.told == record.Status || a.phase >= closing {
		return
	}
	s.told = record.Status
	a.o.Fleet.Tell(SeatChanged{Session: a.record.ID, Seat: record})
}

func scriptPlayer(h *player.Handle) script.Player {
	return script.Player{PeerID: h.Peer, PlayerSessionID: h.ID, PlayerID: h.PlayerID, PlayerData: h.Data}
}

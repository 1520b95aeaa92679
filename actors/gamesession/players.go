package gamesession

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// newPlayerSessionID returns "psess-" followed by 128 random bits in the form of a UUID. It is not a version 4 UUID,
// which would have six random bits less (reliability.md 2.2). On a node of a cluster, the tag of the game session
// follows.
func (a *Actor) newPlayerSessionID() messages.PlayerSessionID {
	var random uuid.UUID
	rand.Read(random[:]) // never fails since Go 1.24
	id := messages.PlayerSessionID("psess-" + random.String())
	if a.o.Alternates != nil {
		id = coord.WithTag(id, a.record.ID)
	}
	return id
}

// createPlayers creates all of the player sessions or none (service-api.md 2.7). If with is not nil, the players belong
// to a match, and a player that already has a player session keeps it.
func (a *Actor) createPlayers(players []messages.NewPlayer, with *messages.FillGameSession, reply func([]*messages.PlayerSession, error)) bool {
	var seated []*playerSession
	if with != nil {
		players, seated = a.unseated(players)
	}
	n := len(players)
	g := a.o.Publisher.session.Load()
	switch free := g.MaxPlayers - (len(a.order) - a.finished); {
	case a.phase != active:
		reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s, not ACTIVE", a.record.ID, a.record.Status))
		return false
	case !g.AcceptsPlayers:
		reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s does not accept new player sessions", a.record.ID))
		return false
	case n > free:
		// An edit of the maximum can make free negative.
		reply(nil, messages.Errorf(messages.GameSessionFull, "game session %s has %d free seats, %d are needed", a.record.ID, max(0, free), n))
		return false
	}
	now := a.c.Now()
	made := PlayerSessionsCreated{Session: a.record.ID, Fill: with, publisher: a.o.Publisher}
	for _, who := range players {
		s := a.newPlayerSession(who, now)
		a.note(s.player, messages.PlayerReserved, "")
		made.views = append(made.views, s.view)
		made.Records = append(made.Records, s.view.record(&a.record))
	}
	for _, s := range seated {
		if a.o.Server {
			s.reservedUntil = now.Add(player.ReservationTime)
		} else {
			s.ref.Tell(player.Renew{})
		}
	}
	a.addHiddenViews(made.views)
	messages.Send(a.o.Fleet, made, reply)
	return true
}

// unseated returns the players without a player session, and the existing player sessions of the other players. A
// player session that is about to end does not count.
func (a *Actor) unseated(players []messages.NewPlayer) (without []messages.NewPlayer, seated []*playerSession) {
	held := make(map[messages.PlayerID]*playerSession, len(players))
	for _, s := range a.order {
		if (s.ref != nil || a.o.Server) && s.presence < leaving && s.record != recordRefused && !s.view.state().Final() {
			held[s.player.PlayerID] = s
		}
	}
	for _, who := range players {
		if s := held[who.PlayerID]; s != nil {
			seated = append(seated, s)
		} else {
			without = append(without, who)
		}
	}
	return without, seated
}

// onPlayerSessionsStored ends player sessions that the store has refused. For the others it reports the status, which
// may have changed meanwhile.
func (a *Actor) onPlayerSessionsStored(m PlayerSessionsStored) {
	if m.Match != "" {
		a.onFillStored(m.Match, m.Refused)
	}
	for _, id := range m.IDs {
		s := a.byID[id]
		if s == nil {
			continue
		}
		s.record = recordStored
		if !m.Refused {
			a.reportStatus(s)
			continue
		}
		s.record = recordRefused
		if s.ref != nil {
			s.player.Tell(player.Kick{})
		} else if a.o.Server {
			a.refusePlayer(s)
		}
	}
}

// full reports whether the maximum number of players of the script or of the game session has been reached.
func (a *Actor) full() bool {
	return len(a.roster)+a.joining >= min(a.playersMax, max(a.o.Publisher.session.Load().MaxPlayers, 0))
}

func (a *Actor) newPlayerSession(who messages.NewPlayer, now time.Time) *playerSession {
	h := player.NewHandle(a.newPlayerSessionID(), who, now, &a.o.Budget, a.c.Counters())
	s := &playerSession{player: h,
		reported: messages.PlayerSessionReserved, view: &playerSessionView{id: h.ID, playerID: who.PlayerID, data: who.PlayerData, created: now}}
	s.view.set(messages.PlayerSessionReserved, now)
	a.byID[h.ID], a.byPlayer[h] = s, s
	a.order = append(a.order, s)
	if a.o.Server {
		a.reserve(s, now)
	} else {
		s.durable = player.NewDurable(h)
		a.spawnPlayer(s)
	}
	return s
}

func (a *Actor) spawnPlayer(s *playerSession) {
	self := a.c.Self()
	s.ref = a.c.Stage().NewRefBeside(self, counters.ActorPlayer, stage.LaneLimits{})
	s.player.SetActor(s.ref)
	a.byRef[s.ref] = s
	before := messages.PlayerSessionReserved
	if s.rejoin == rejoining {
		before = messages.PlayerSessionCompleted
	}
	view, from := s.view, before
	activate := func() { view.status.CompareAndSwap(uint32(from), uint32(messages.PlayerSessionActive)) }
	a.c.Spawn(s.ref, player.New(a.optionsOfPlayers(), s.durable, activate))
}

// optionsOfPlayers returns the options for a new player actor. It returns the same pointer as before unless the options
// have changed.
func (a *Actor) optionsOfPlayers() *player.Options {
	now := player.Options{
		Session: a.c.Self(),
		Rules:   player.Rules{Window: a.window > 0, Takeover: a.o.Takeover, Rejoin: a.o.Rejoin && a.window > 0},
		Window:  a.window, PingInterval: a.ping, Inflow: a.inflow,
		Acknowledge: a.o.Acknowledge, SkipAmbiguous: a.o.SkipAmbiguous, Alternates: a.o.Alternates,
	}
	if a.playerOptions == nil || *a.playerOptions != now {
		shared := now
		a.playerOptions = &shared
	}
	return a.playerOptions
}

// replacePlayer restarts a crashed player actor with its durable state. After too many restarts the player session ends
// (reliability.md 4).
func (a *Actor) replacePlayer(s *playerSession) {
	if a.phase >= closing || s.rejoin != rejoining && s.view.state().Final() {
		s.player.Close()
		return
	}
	if s.seldom().restarts.allow(time.Now().UnixNano(), playerRestarts) {
		a.c.Counters().Restarts.Add(counters.ActorPlayer, 1)
		a.spawnPlayer(s)
		if s.kick != nil {
			s.player.Tell(*s.kick)
		}
		return
	}
	a.about(a.c.Log().Error(), s.player).Str("reason", "its actor crashed again and again").
		Msg("player restarted too often: its player session ends")
	if s.presence == joining {
		a.stopJoining(s)
	}
	status := messages.PlayerSessionTimedOut
	if s.inRoster() {
		status = messages.PlayerSessionCompleted
	}
	a.remove(s, func() {
		a.setPlayerStatus(s, status)
		s.player.Close()
		a.endIfLast()
	})
}

// onLogin refuses logins that the game session cannot accept. It forwards the others to the player actor, which decides
// (realtime.md 6.1 step 3).
func (a *Actor) onLogin(l *player.Login) {
	s := a.byID[l.ID]
	if s == nil {
		l.From.Refuse(0)
		return
	}
	// Bans use the wall-clock time, not the stage's clock, because they outlive the process.
	ban, banned := a.o.Bans.Find(s.player.PlayerID, time.Now())
	switch {
	case a.phase != active:
		a.refuse(l, wire.RefusedGameSessionEnded)
	case a.o.Server:
		a.refuseFor(l, wire.RefusedByGame, "its players connect to a server process of their own")
	case banned:
		a.note(s.player, messages.PlayerRefused, ban.Cause())
		l.From.CountRefusal(counters.LoginBanned)
		a.refuseFor(l, wire.RefusedByGame, ban.Cause()) // the protocol has no reason code for a ban
	case s.presence >= leaving && s.ref != nil: // the old player actor must stop first
		if earlier := s.has().nextLogin; earlier != nil {
			earlier.From.Refuse(player.RetrySoon)
		}
		s.seldom().nextLogin = l
	case s.ref == nil:
		a.rejoin(s, l)
	case s.presence == reserved && a.full():
		a.refuse(l, wire.RefusedFull)
	default:
		s.ref.Tell(l)
	}
}

// refuse refuses a login for a player session of this game session.
func (a *Actor) refuse(l *player.Login, why wire.Refusal) { a.refuseFor(l, why, why.String()) }

// refuseFor is like refuse, but logs cause, which may be more precise than the reason that the client is told.
func (a *Actor) refuseFor(l *player.Login, why wire.Refusal, cause string) {
	e := a.c.Log().Info().Str("game_session_id", string(a.record.ID)).Str("player_session", l.ID.Short())
	if s := a.byID[l.ID]; s != nil {
		e.Str("player_id", string(s.player.PlayerID))
	}
	e.Str("reason", cause).Msg("login refused")
	l.From.SetRefusal(why)
	l.From.Refuse(0)
}

// rejoin lets a player that left log in again if there is room.
func (a *Actor) rejoin(s *playerSession, l *player.Login) {
	free := a.o.Publisher.session.Load().MaxPlayers - (len(a.order) - a.finished)
	switch {
	case !a.o.Rejoin || a.window == 0 || s.rejoin != rejoinAllowed || s.inRoster() || l.Token != "": // D-2
		a.refuse(l, wire.RefusedPlayerSessionEnded)
		return
	case free <= 0 || a.full():
		a.refuse(l, wire.RefusedFull)
		return
	}
	old := s.player
	h := player.NewHandle(old.ID, messages.NewPlayer{PlayerID: old.PlayerID, PlayerData: old.Data}, old.Created, &a.o.Budget, a.c.Counters())
	delete(a.byPlayer, old)
	a.byPlayer[h] = s
	s.startRejoin(h)
	a.finished--
	a.countViews(s)
	a.spawnPlayer(s)
	s.ref.Tell(l)
}

func (a *Actor) onGateAsked(m player.GateAsked) {
	s := a.byPlayer[m.Player]
	if s == nil || s.ref == nil {
		return
	}
	if a.phase != active || a.full() {
		why := wire.RefusedFull
		if a.phase != active {
			why = wire.RefusedGameSessionEnded
		}
		s.ref.Tell(player.GateAnswer{Attempt: m.Attempt, Why: why})
		return
	}
	a.startJoining(s)
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
	s.loginGate = p
	a.await(p, gateLimit, func(ok bool) {
		if s.loginGate == p && s.presence == joining { // otherwise the login has ended in the meantime
			s.loginGate = nil
			a.answerGate(s, m.Attempt, ok && a.phase == active)
		}
	})
}

func (a *Actor) answerGate(s *playerSession, attempt uint64, ok bool) {
	answer := player.GateAnswer{Attempt: attempt, OK: ok, Peer: s.player.Peer}
	if !ok {
		answer.Why = wire.RefusedByGame
		a.note(s.player, messages.PlayerRefused, answer.Why.String())
		a.about(a.c.Log().Info(), s.player).Str("reason", answer.Why.String()).Msg("login refused")
		a.stopJoining(s) // before the player actor answers, because the next login may already be waiting
	}
	if s.ref != nil {
		s.ref.Tell(answer)
	}
}

// onJoinOver handles the end of a login that was not accepted.
func (a *Actor) onJoinOver(m player.JoinOver) {
	if s := a.byPlayer[m.Player]; s != nil && s.presence == joining {
		a.stopJoining(s)
	}
	if !m.Again && (a.endWhenEmpty || a.emptied) {
		a.endIfLast()
	}
}

func (a *Actor) onAccepted(m player.Accepted) {
	s := a.byPlayer[m.Player]
	if s == nil || s.presence != joining {
		return
	}
	a.enter(s)
	a.setPlayerStatus(s, messages.PlayerSessionActive)
	a.note(s.player, messages.PlayerJoined, "")
	// The player may have been banned after the gate was asked. In that time a kick cannot find a player that rejoins.
	if ban, banned := a.o.Bans.Find(s.player.PlayerID, time.Now()); banned {
		a.kick(s, ban.Cause())
	}
	a.announceJoin(s)
	if !a.relay {
		a.callback("onPlayerAccepted", func() { a.o.Handler.OnPlayerAccepted(scriptPlayer(s.player)) })
	}
}

// about adds the fields of the game session and the player to a log event.
func (a *Actor) about(e *zerolog.Event, h *player.Handle) *zerolog.Event {
	return e.Str("game_session_id", string(a.record.ID)).Str("player_id", string(h.PlayerID)).Str("player_session", h.ID.Short()).Int32("peer", int32(h.Peer))
}

// onWentAway asks the game whether to keep a player that lost its connection.
func (a *Actor) onWentAway(m player.WentAway) {
	a.about(a.c.Log().Info(), m.Player).Str("reason", m.Reason).Msg("player detached")
	s := a.byPlayer[m.Player]
	if s != nil {
		a.noteEnd(s, m.Reason)
		a.note(m.Player, messages.PlayerCut, m.Reason)
	}
	if s == nil || !s.inRoster() || a.relay {
		return
	}
	release := func(hold bool) {
		if !hold {
			m.Player.Tell(player.Release{Epoch: m.Epoch})
		}
	}
	d := script.Hold // also used if the callback fails
	a.callback("onPlayerDetached", func() { d = a.o.Handler.OnPlayerDetached(m.Player.Peer, m.Reason) })
	if p := d.Pending(); p != nil {
		a.await(p, gateLimit, func(ok bool) { release(ok || p.Reason() != "") })
		return
	}
	ok, _ := d.Now()
	release(ok)
}

func (a *Actor) onCameBack(m player.CameBack) {
	line := a.about(a.c.Log().Info(), m.Player)
	if m.Takeover { // log why the previous connection ended
		line.Stringer("reason", messages.CloseTakenOver)
	}
	line.Uint64("epoch", uint64(m.Epoch)).
		Stringer("from", m.From).Stringer("to", m.To).Dur("away_ms", m.Away).Int("resent", m.Replay.Messages).
		Uint64("lost", m.Lost).Msg("player resumed")
	a.note(m.Player, messages.PlayerResumed, fmt.Sprintf("after %v, %d messages sent again, %d lost", m.Away.Round(time.Millisecond), m.Replay.Messages, m.Lost))
	if s := a.byPlayer[m.Player]; s == nil || !s.inRoster() || a.relay {
		return
	}
	info := script.Reconnected{Resent: m.Replay.Messages, Lost: m.Lost, Away: m.Away, Takeover: m.Takeover}
	a.callback("onPlayerReconnected", func() { a.o.Handler.OnPlayerReconnected(m.Player.Peer, info) })
}

// onLeaving tells the game that a player is leaving and then removes the player (realtime.md 12).
func (a *Actor) onLeaving(m player.IsLeaving) {
	s := a.byPlayer[m.Player]
	if s == nil {
		return
	}
	a.noteEnd(s, m.Reason)
	a.note(m.Player, messages.PlayerLeft, m.Reason)
	if !m.Left && a.phase == active { // not logged for each player when the whole game session ends
		a.about(a.c.Log().Info(), m.Player).Str("reason", m.Reason).Msg("player lost: its player session ends")
	}
	if s.rejoin != rejoining { // for a failed rejoin, setPlayerStatus decides
		s.allowRejoin(m.Left)
	}
	a.remove(s, func() {
		m.Player.Tell(player.LeaveHandled{})
		a.endIfLast()
	})
}

// remove calls onPlayerDisconnect while the player is still in the roster. Then it removes the player from the roster
// and its groups, and calls then.
func (a *Actor) remove(s *playerSession, then func()) {
	switch {
	case !s.inRoster():
		s.presence = gone
		then()
	case s.has().afterRemoval != nil: // onPlayerDisconnect is still running, and the player actor has crashed in the meantime
		s.rare.afterRemoval = append(s.rare.afterRemoval, then)
	case a.relay:
		a.takeOut(s)
		then()
	default:
		s.presence, s.seldom().afterRemoval = leaving, []func(){then}
		a.resolve("onPlayerDisconnect", gateLimit, func() script.Decision { return a.o.Handler.OnPlayerDisconnect(s.player.Peer) }, func(bool) {
			a.takeOut(s)
			removed := s.rare.afterRemoval
			s.rare.afterRemoval = nil
			for _, then := range removed {
				then()
			}
		})
	}
}

// takeOut removes a player from the roster and from its groups.
func (a *Actor) takeOut(s *playerSession) {
	a.leave(s)
	a.dropStash(s)
	for _, id := range s.player.Groups {
		if g := a.groups[id]; g != nil {
			a.removeGone(g, s.player)
		}
	}
	s.player.Groups = nil
	a.announceLeave(s)
	a.emptied = a.emptied || len(a.roster) == 0
	if len(a.roster) == 0 && a.emptyTimer != nil {
		a.emptyTimer.Reset(a.o.EmptyTimeout)
	}
}

func (a *Actor) onStatusChanged(m player.StatusChanged) {
	if s := a.byPlayer[m.Player]; s != nil {
		a.setPlayerStatus(s, m.Status)
		if a.endWhenEmpty && m.Status.Final() {
			a.endIfLast()
		}
	}
}

func (a *Actor) setPlayerStatus(s *playerSession, status messages.PlayerSessionStatus) {
	old := s.view.state()
	switch {
	case s.rejoin == rejoining && status.Final(): // the rejoin was not accepted; the view still shows the final status
		s.allowRejoin(s.kick == nil)
	case s.rejoin == rejoining && status == messages.PlayerSessionActive:
		s.rejoin = rejoinBarred
		s.view.set(status, a.c.Now())
	case old == status, old.Final():
		a.reportStatus(s) // the view already shows the status, because the player actor has set it
		return
	default:
		s.view.set(status, a.c.Now())
	}
	if status.Final() {
		a.finished++
		a.forgetFinished()
	}
	a.countViews(s)
	a.reportStatus(s)
}

// reportStatus makes the fleet store a player session's new status. When the game session ends, this is not necessary,
// because the end of the game session implies the final status.
func (a *Actor) reportStatus(s *playerSession) {
	record := s.view.record(&a.record)
	if s.record != recordStored || s.reported == record.Status || a.phase >= closing {
		return
	}
	s.reported = record.Status
	a.o.Fleet.Tell(PlayerSessionChanged{Session: a.record.ID, Record: record})
}

func scriptPlayer(h *player.Handle) script.Player {
	return script.Player{PeerID: h.Peer, PlayerSessionID: h.ID, PlayerID: h.PlayerID, PlayerData: h.Data}
}

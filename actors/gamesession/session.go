package gamesession

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/group"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// session is the Actor as seen by the game. It implements script.Session.
type session Actor

var _ script.Session = (*session)(nil)

func (s *session) actor() *Actor { return (*Actor)(s) }

func (s *session) Players() []script.Player {
	list := make([]script.Player, len(s.roster))
	for i, p := range s.roster {
		list[i] = scriptPlayer(p.player)
	}
	return list
}

func (s *session) Logger() *script.Log { return s.o.Log }

func (s *session) Send(m script.Outgoing, to script.Target) {
	reliable := to.How&script.HowReliable != 0
	if to.How&script.HowGroup != 0 {
		s.sendToGroup(m, messages.GroupID(to.ID), reliable)
	} else {
		s.sendToPlayer(m, messages.PeerID(to.ID), reliable)
	}
}

// sendToPlayer delivers a message to a player. If the player is still joining, its outbox keeps the message until
// LOGIN_RESPONSE has been sent.
func (s *session) sendToPlayer(m script.Outgoing, target messages.PeerID, reliable bool) {
	p := s.byPeer[target]
	if p == nil {
		s.c.Counters().Dropped.Add(counters.DropUnknownTarget, 1)
		s.o.Log.Host(script.LevelWarn, fmt.Sprintf("message %d to player %d, who is not there", m.OpCode, target))
		return
	}
	if !s.maySend(1, reliable) {
		return
	}
	if f := s.frame(m, target, messages.NoGroup); f != nil {
		p.player.Deliver(s.c, f, reliable)
		f.Release()
	}
}

func (s *session) sendToGroup(m script.Outgoing, target messages.GroupID, reliable bool) {
	n, members := s.actor().recipients(target)
	if !s.maySend(n, reliable) {
		return
	}
	if f := s.frame(m, messages.NoPeer, target); f != nil {
		s.actor().deliver(target, members, f, reliable)
		f.Release()
	}
}

// maySend applies the limit on the game's messages. It returns false after the game's Exit or Crash and while the game
// session is closing.
func (s *session) maySend(n int, reliable bool) bool {
	switch {
	case s.exit != nil || s.phase >= closing:
		return false
	case !s.sending.allow(n, reliable):
		s.c.Counters().Dropped.Add(counters.DropDeliveryRate, int64(n))
		return false
	case s.sending.exhausted():
		s.Crash(fmt.Sprintf("it sends far more than %d messages per second", s.sending.perSecond))
	}
	return true
}

// frame builds the packet of a game's message. It returns nil if the payload is larger than 65536 bytes.
func (s *session) frame(m script.Outgoing, target messages.PeerID, to messages.GroupID) *wire.Frame {
	switch n := len(m.Payload); {
	case n > wire.ScriptPayloadMax: // D-114
		s.c.Counters().Dropped.Add(counters.DropScriptPayload, 1)
		s.o.Log.Host(script.LevelWarn, fmt.Sprintf("message %d has a payload of %d bytes; more than %d are not sent", m.OpCode, n, wire.ScriptPayloadMax))
		return nil
	case n > wire.ScriptPayloadWarn:
		s.o.Log.Host(script.LevelWarn, fmt.Sprintf("message %d has a payload of %d bytes; stock games stay below %d", m.OpCode, n, wire.ScriptPayloadWarn))
	}
	return wire.NewFrame(&wire.Header{OpCode: m.OpCode, Sender: int32(m.Sender), TargetPlayer: int32(target), TargetGroup: int32(to), Payload: m.Payload})
}

func (s *session) BroadcastGroupMembershipUpdate(of, to messages.GroupID) {
	n, members := s.actor().recipients(to)
	if !s.maySend(n, true) {
		return
	}
	peers := s.actor().peersOf(of)
	if to == messages.AllPlayers {
		for _, p := range s.roster {
			p.player.Give(s.c, group.Update(p.player, messages.ServerPeer, of, peers))
		}
	}
	for _, p := range members {
		p.Give(s.c, group.Update(p, messages.ServerPeer, of, peers))
	}
}

func (s *session) KickPlayer(peer messages.PeerID, reason string) {
	p := s.byPeer[peer]
	switch {
	case s.exit != nil || s.phase >= closing:
	case p == nil:
		s.o.Log.Host(script.LevelWarn, fmt.Sprintf("player %d cannot be removed: it is not there", peer))
	default:
		s.actor().kick(p, reason)
	}
}

func (a *Actor) kick(s *playerSession, reason string) {
	if s.kick != nil {
		return
	}
	s.kick = &player.Kick{Reason: truncate(reason)} // kept in order to repeat it to the successor of a crashed player actor
	a.o.Log.Host(script.LevelInfo, fmt.Sprintf("player %d is removed: %s", s.player.Peer, cmp.Or(s.kick.Reason, "no reason given")))
	if !s.inRoster() { // for a player in the roster, onLeaving logs the removal
		a.about(a.c.Log().Info(), s.player).Str("reason", "kicked: "+s.kick.Reason).Msg("player removed before it was in the game: its player session ends")
	}
	s.player.Tell(*s.kick)
}

func (s *session) ProcessEnding() {
	if s.phase >= ending || s.exit != nil {
		return
	}
	s.phase = ending
	if s.assignment == unassigned { // there are no players to wait for
		s.exit = &exitCall{}
		return
	}
	s.actor().setStatus(messages.GameSessionTerminating)
	s.c.After(endGrace, forcedExit{})
}

func (s *session) Exit(code int) {
	if s.exit == nil && s.phase < closing {
		s.exit = &exitCall{code: code}
	}
}

func (s *session) Crash(reason string) {
	if s.exit == nil && s.phase < closing {
		s.exit = &exitCall{code: 1, reason: reason}
	}
}

func (s *session) After(d time.Duration, f func()) script.Timer { return s.c.After(d, task{f}) }

func (s *session) Do(f func()) bool { return s.c.Self().Tell(task{f}) }

// HostLog returns a sink that writes to the host's log. It is for game sessions without their own log.
func HostLog(log *zerolog.Logger, id string) script.Sink { return hostLog{log: log, session: id} }

// hostLog writes a game session's log lines to the host's log, which may be a terminal.
type hostLog struct {
	log     *zerolog.Logger
	session string
}

var hostLevels = [...]zerolog.Level{script.LevelDebug: zerolog.DebugLevel, script.LevelInfo: zerolog.InfoLevel, script.LevelWarn: zerolog.WarnLevel,
	script.LevelError: zerolog.ErrorLevel, script.LevelFatal: zerolog.ErrorLevel, script.LevelCXFatal: zerolog.ErrorLevel}

// Write implements script.Sink.
func (l hostLog) Write(line script.Line) {
	if line.Echo {
		return
	}
	line = line.Clean()
	e := l.log.WithLevel(hostLevels[line.Level]).Str("game_session_id", l.session)
	if line.File != script.HostFile {
		e = e.Str("file", line.File).Int("line", line.Row)
	}
	e.Msg(line.Text)
}

// Close implements script.Sink.
func (hostLog) Close() {}

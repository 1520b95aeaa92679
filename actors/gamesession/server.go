package gamesession

import (
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
)

// Players of a game session with Options.Server connect to a server process of their own, which accepts and removes
// their player sessions. Such player sessions have no actors and never a presence. They keep their record and state only.

// Messages of a game session with Options.Server.
type (
	// SetPlayer accepts or removes a player session. It is answered once the change is durable.
	SetPlayer struct {
		messages.ToThisHost[messages.None]
		messages.SetPlayer
	}
	// StorePlayer asks the fleet to store the new status of a player session. When it is durable, the fleet calls Show.
	StorePlayer struct {
		messages.ToThisHost[messages.None]
		Session messages.GameSessionID
		Record  *messages.PlayerSession

		view *playerSessionView
	}
	playerStored struct {
		id     messages.PlayerSessionID
		status messages.PlayerSessionStatus
		err    error
		reply  func(messages.None, error)
	}
	reservationsDue struct{}
)

// DeadLetterError returns an error that says that the game session has ended.
func (q SetPlayer) DeadLetterError() error {
	return messages.Errorf(messages.InvalidRequest, "The game session has ended.")
}

// Show makes the new status visible to the API, unless the end of the game session has set a final one meanwhile.
func (q StorePlayer) Show() {
	if q.Record.Status.Final() {
		q.view.set(q.Record.Status, q.Record.Terminated)
		return
	}
	q.view.status.CompareAndSwap(uint32(messages.PlayerSessionReserved), uint32(q.Record.Status))
}

// OnDeadLetter implements stage.DeadLetter. What is durable is answered, although the game session has ended meanwhile.
func (m playerStored) OnDeadLetter() { m.reply(messages.None{}, m.err) }

// Run makes f be called in the actor of a game session, between callbacks. It returns false if the game session has
// ended. Any goroutine may call it.
func Run(ref *stage.Ref, f func()) bool { return ref.Tell(task{f}) }

// restorePlayers continues with the player sessions that the Publisher already has. Their reservations begin anew,
// because their players could not join while the host was down.
func (a *Actor) restorePlayers() {
	now := a.c.Now()
	for _, v := range *a.o.Publisher.playerSessions.Load() {
		h := player.NewHandle(v.id, messages.NewPlayer{PlayerID: v.playerID, PlayerData: v.data}, v.created, &a.o.Budget, a.c.Counters())
		s := &playerSession{player: h, view: v, record: recordStored, reported: v.state()}
		a.byID[h.ID], a.byPlayer[h] = s, s
		a.order = append(a.order, s)
		if v.state().Final() {
			a.finished++
		} else if v.state() == messages.PlayerSessionReserved {
			a.reserve(s, now)
		}
	}
	a.o.Publisher.count(func() { a.o.Publisher.reserved = len(a.order) - a.finished })
}

// reserve starts the time of a reservation.
func (a *Actor) reserve(s *playerSession, now time.Time) {
	s.reservedUntil = now.Add(player.ReservationTime)
	if a.reservations == nil {
		a.reservations = a.c.After(player.ReservationTime, reservationsDue{})
	}
}

// onReservationsDue ends the reservations whose time is over. One timer serves all of them: it fires for the earliest.
func (a *Actor) onReservationsDue() {
	now, next := a.c.Now(), time.Time{}
	a.reservations = nil
	for _, s := range a.order {
		switch {
		case s.view.state() != messages.PlayerSessionReserved || s.setting:
		case !now.Before(s.reservedUntil):
			a.note(s.player, messages.PlayerLeft, "its server did not accept it in time")
			a.setPlayerStatus(s, messages.PlayerSessionTimedOut)
		case next.IsZero() || s.reservedUntil.Before(next):
			next = s.reservedUntil
		}
	}
	if !next.IsZero() {
		a.reservations = a.c.After(next.Sub(now), reservationsDue{})
	}
	if a.endWhenEmpty {
		a.endIfLast()
	}
}

func (a *Actor) onSetPlayer(m stage.Request[SetPlayer, messages.None]) {
	q := m.Request
	s := a.byID[q.Player]
	refuse := func(text string) { m.Reply(messages.None{}, messages.Errorf(messages.InvalidRequest, "%s", text)) }
	if s == nil || s.record != recordStored {
		refuse("Player session not found.")
		return
	}
	status := s.view.state()
	_, banned := a.o.Bans.Find(s.player.PlayerID, time.Now()) // as in onLogin
	switch {
	case a.phase >= closing:
		m.Reply(messages.None{}, q.DeadLetterError())
		return
	case status.Final():
		refuse("The player session is " + status.String() + ".")
		return
	case s.setting:
		refuse("The player session is being changed.")
		return
	case !q.Accept:
	case status == messages.PlayerSessionActive:
		refuse("The player session was accepted already.")
		return
	case banned:
		a.note(s.player, messages.PlayerRefused, "banned")
		refuse("The player is banned.")
		return
	}
	record := s.view.record(&a.record)
	record.Status = messages.PlayerSessionCompleted
	if q.Accept {
		record.Status = messages.PlayerSessionActive
	} else {
		record.Terminated = a.c.Now()
	}
	s.setting = true
	self := a.c.Self()
	messages.Send(a.o.Fleet, StorePlayer{Session: a.record.ID, Record: record, view: s.view}, func(_ messages.None, err error) {
		self.Tell(playerStored{q.Player, record.Status, err, m.Reply})
	})
}

// onPlayerStored ends a change that onSetPlayer has begun. The fleet has set the view.
func (a *Actor) onPlayerStored(m playerStored) {
	s := a.byID[m.id]
	if s != nil {
		s.setting = false
		if m.err == nil {
			s.reported = m.status
		}
	}
	if s != nil && m.err == nil && a.phase < closing {
		kind := messages.PlayerJoined
		if m.status.Final() {
			kind = messages.PlayerLeft
			a.finished++
			a.forgetFinished()
			a.countViews(s)
		}
		a.note(s.player, kind, "")
	}
	m.reply(messages.None{}, m.err)
	if s != nil && m.err != nil && s.view.state() == messages.PlayerSessionReserved {
		a.reservations.Stop()
		a.onReservationsDue() // its time may be over, and the timer has left it out
	}
	if a.endWhenEmpty {
		a.endIfLast()
	}
}

// refusePlayer forgets a player session that the store has refused. It has no actor.
func (a *Actor) refusePlayer(s *playerSession) {
	a.setPlayerStatus(s, messages.PlayerSessionTimedOut)
	a.forgetPlayerSessions(func(o *playerSession) bool { return o == s })
}

package gamesession

import (
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Messages to a game session, besides player.Login, player.Ended and Inbound.
type (
	// CreatePlayers reserves seats; Reply is called once.
	CreatePlayers struct {
		Request messages.CreatePlayerSessions
		Reply   func([]*messages.PlayerSession, error)
	}
	// Assign gives an idle process its game session.
	Assign struct {
		Record    *messages.GameSession
		Published *Published
	}
	// Terminate ends the game session from outside: OnProcessTerminate runs, what
	// it sends is flushed, then players are closed with Reason. Force leaves
	// OnProcessTerminate out, or ends the wait for it.
	Terminate struct {
		Reason messages.CloseReason
		Text   string
		// StatusReason is shown with TERMINATED (service-api.md 2.6).
		StatusReason string
		Force        bool
	}
	// SeatsStored says that new player sessions are durable, or were refused: then they are
	// free again.
	SeatsStored struct {
		IDs     []messages.PlayerSessionID
		Refused bool
	}
	// EndWhenEmpty with On ends the game session when nobody is in it and nobody has a
	// seat to come in. Without, it takes that back.
	EndWhenEmpty struct{ On bool }
)

// Undelivered implements stage.Undeliverable.
func (m CreatePlayers) Undelivered() {
	m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", m.Request.GameSessionID))
}

// Undelivered implements stage.Undeliverable.
func (m SeatsMade) Undelivered() {
	m.Reply(nil, messages.Errorf(messages.Unavailable, "the host is shutting down"))
}

// Show shows the player sessions from now on.
func (m SeatsMade) Show() { m.published.show(m.views) }

// Messages from a game session to its fleet.
type (
	// SeatsMade brings new player sessions, which the fleet answers with once they are
	// durable, after it has called Show.
	SeatsMade struct {
		Session messages.GameSessionID
		Seats   []*messages.PlayerSession
		Reply   func([]*messages.PlayerSession, error)

		published *Published
		views     []*playerSessionView
	}
	// SeatChanged brings a player session whose status has changed, other than by the end
	// of its game session.
	SeatChanged struct {
		Session messages.GameSessionID
		Seat    *messages.PlayerSession
	}
	// SeatsForgotten names player sessions that are no longer remembered.
	SeatsForgotten struct {
		Session messages.GameSessionID
		IDs     []messages.PlayerSessionID
	}
	// Changed says that the game session has become ACTIVE or TERMINATING.
	Changed struct{ Session messages.GameSessionID }
	// Ready says that a process without a game session may get one.
	Ready struct{ Ref *stage.Ref }
	// Over says that the game session has ended; Exited follows. Session is empty
	// for a process that had none.
	Over struct {
		Session messages.GameSessionID
		Ref     *stage.Ref
		Text    string
		Failed  bool // by the game's fault
	}
)

// Timers and tasks of its own.
type (
	emptyCheck  struct{}
	healthCheck struct{}
	forcedExit  struct{}
	closeOver   struct{}
	overdue     struct{ p *script.Pending }
	ackDue      struct{}
	task        struct{ f func() }
)

// restarts counts restarts of one child in a window.
type restarts struct {
	count int
	since int64 // unix nanoseconds of the first in the window
}

func (r *restarts) allow(now int64, most int) bool {
	if now-r.since > int64(restartWindow) {
		r.since, r.count = now, 0
	}
	r.count++
	return r.count <= most
}

var _ stage.Undeliverable = CreatePlayers{}

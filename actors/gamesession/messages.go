package gamesession

import (
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
	// Terminate ends the game session from outside: OnProcessTerminate runs, what
	// it sends is flushed, then players are closed with Reason.
	Terminate struct {
		Reason messages.CloseReason
		Text   string
	}
	// EndWhenEmpty ends the game session when its last player leaves.
	EndWhenEmpty struct{}
)

// Undelivered implements stage.Undeliverable.
func (m CreatePlayers) Undelivered() {
	m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", m.Request.GameSessionID))
}

// Messages from a game session to its fleet.
type (
	// SeatsMade names new player sessions, before the API's caller learns them.
	SeatsMade struct {
		Session messages.GameSessionID
		IDs     []messages.PlayerSessionID
	}
	// SeatsForgotten names player sessions that are no longer remembered.
	SeatsForgotten struct {
		Session messages.GameSessionID
		IDs     []messages.PlayerSessionID
	}
	// Over says that the game session has ended; Exited follows.
	Over struct{ Session messages.GameSessionID }
)

// Timers and tasks of its own.
type (
	emptyCheck  struct{}
	healthCheck struct{}
	forcedExit  struct{}
	closeOver   struct{}
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

package gamesession

import (
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// Messages to a game session, besides player.Login, player.Ended and Inbound.
type (
	// CreatePlayers creates player sessions, all or none. The answer is their records.
	CreatePlayers struct{ messages.CreatePlayerSessions }
	// Assign gives a stand-by process its game session.
	Assign struct {
		Record    *messages.GameSession
		Publisher *Publisher
	}
	// Terminate ends the game session: OnProcessTerminate runs, its messages are flushed, and
	// players' connections closed with Reason. Force skips OnProcessTerminate, or the wait for it.
	Terminate struct {
		Reason messages.CloseReason
		Text   string
		// StatusReason is shown with TERMINATED (service-api.md 2.6).
		StatusReason string
		Force        bool
	}
	// Fill adds the players of a match to the game session. The answer to a repetition for the same match is nil.
	Fill struct{ messages.FillGameSession }
	// Updated tells the game of a backfill request. It follows the answer to Fill.
	Updated struct {
		Reason messages.UpdateReason
		Ticket messages.TicketID
	}
	// PlayerSessionsStored says that new player sessions are durable, or, with Refused, that they are not and must end.
	PlayerSessionsStored struct {
		IDs     []messages.PlayerSessionID
		Refused bool
		Match   messages.MatchID // of Fill; empty for others
	}
	// Limited says that a limit has cost a player packets or its connection, once per connection and reason. Text names it and its key.
	Limited struct {
		From *player.Handle
		Why  counters.Drop
		Text string
	}
	// EndWhenEmpty, if On, ends the game session once it has no players and no reserved player sessions; else it revokes that.
	EndWhenEmpty struct{ On bool }
)

// DeadLetterError says that the game session has ended.
func (q CreatePlayers) DeadLetterError() error {
	return messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.GameSessionID)
}

// DeadLetterError says that the game session has ended.
func (q Fill) DeadLetterError() error {
	return messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.Session)
}

// Answer implements messages.RequestOf.
func (Fill) Answer() (none []*messages.PlayerSession) { return }

// Show makes the player sessions visible to the API.
func (m PlayerSessionsCreated) Show() { m.publisher.show(m.views) }

// Messages from a game session to its fleet.
type (
	// PlayerSessionsCreated asks the fleet to store new player sessions; once durable, it calls Show, then answers with Records.
	PlayerSessionsCreated struct {
		messages.ToThisHost[[]*messages.PlayerSession]
		Session messages.GameSessionID
		Records []*messages.PlayerSession
		// Fill is what is stored and shown together with them; nil: nothing.
		Fill *messages.FillGameSession

		publisher *Publisher
		views     []*playerSessionView
	}
	// PlayerSessionChanged reports a player session's new status, except at the game session's end.
	PlayerSessionChanged struct {
		Session messages.GameSessionID
		Record  *messages.PlayerSession
	}
	// PlayerSessionsForgotten names player sessions that are not kept any longer.
	PlayerSessionsForgotten struct {
		Session messages.GameSessionID
		IDs     []messages.PlayerSessionID
	}
	// Changed says that the game session has become ACTIVE or TERMINATING.
	Changed struct{ Session messages.GameSessionID }
	// BackfillAsked passes a request of the game on.
	BackfillAsked struct {
		Session messages.GameSessionID
		messages.AskBackfill
	}
	// Ready says that a stand-by process can take a game session.
	Ready struct{ Ref *stage.Ref }
	// Over says that the game session has ended; Exited follows. Session is empty for a process that had none.
	Over struct {
		Session messages.GameSessionID
		Ref     *stage.Ref
		Text    string
		Failed  bool // by the game's fault
		Moments []messages.Moment
	}
	// Crashed has the time line of a game session whose actor has crashed. Exited follows.
	Crashed struct {
		Session messages.GameSessionID
		Moments []messages.Moment
	}
)

// Messages of the actor to itself.
type (
	emptyCheck  struct{}
	healthCheck struct{}
	forcedExit  struct{}
	closeOver   struct{}
	overdue     struct{ p *script.Pending }
	ackDue      struct{}
	task        struct{ f func() }
)

// restarts counts the restarts of one child within restartWindow.
type restarts struct {
	count int
	since int64 // of the first restart in the window, Unix nanoseconds
}

func (r *restarts) allow(now int64, most int) bool {
	if now-r.since > int64(restartWindow) {
		r.since, r.count = now, 0
	}
	r.count++
	return r.count <= most
}

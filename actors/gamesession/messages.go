package gamesession

import (
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// Messages to a game session, in addition to player.Login, player.Ended and Inbound.
type (
	// CreatePlayers creates all of the requested player sessions or none. The answer holds their records.
	CreatePlayers struct{ messages.CreatePlayerSessions }
	// Assign gives a game session to a stand-by process.
	Assign struct {
		Record    *messages.GameSession
		Publisher *Publisher
	}
	// Terminate ends the game session. OnProcessTerminate runs, its messages are flushed, and the players' connections
	// are closed with Reason. Force skips OnProcessTerminate; if it is already running, Force ends the wait for it.
	Terminate struct {
		Reason messages.CloseReason
		Text   string
		// StatusReason is shown with TERMINATED (service-api.md 2.6).
		StatusReason string
		Force        bool
	}
	// Fill adds the players of a match to the game session. If Fill is repeated for the same match, the answer is nil.
	Fill struct{ messages.FillGameSession }
	// Updated tells the game about a backfill request. It is sent after Fill has been answered.
	Updated struct {
		Reason messages.UpdateReason
		Ticket messages.TicketID
	}
	// PlayerSessionsStored says that new player sessions are durable. If Refused is true, the store has refused them,
	// and they must end.
	PlayerSessionsStored struct {
		IDs     []messages.PlayerSessionID
		Refused bool
		Match   messages.MatchID // the match of a Fill; empty for other player sessions
	}
	// Limited says that a limit has dropped a player's packets or closed its connection. It is sent once per connection
	// and reason. Text names the limit and its configuration key.
	Limited struct {
		From *player.Handle
		Why  counters.Drop
		Text string
	}
	// EndWhenEmpty with On ends the game session as soon as it has neither players nor reserved player sessions.
	// Without On it cancels an earlier EndWhenEmpty.
	EndWhenEmpty struct{ On bool }
)

// DeadLetterError returns an error that says that the game session has ended.
func (q CreatePlayers) DeadLetterError() error {
	return messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.GameSessionID)
}

// DeadLetterError returns an error that says that the game session has ended.
func (q Fill) DeadLetterError() error {
	return messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.Session)
}

// Answer implements messages.RequestOf.
func (Fill) Answer() (none []*messages.PlayerSession) { return }

// Show makes the player sessions visible to the API.
func (m PlayerSessionsCreated) Show() { m.publisher.show(m.views) }

// Messages from a game session to its fleet.
type (
	// PlayerSessionsCreated asks the fleet to store new player sessions. When they are durable, the fleet calls Show
	// and then answers with Records.
	PlayerSessionsCreated struct {
		messages.ToThisHost[[]*messages.PlayerSession]
		Session messages.GameSessionID
		Records []*messages.PlayerSession
		// Fill is committed and published together with the player sessions. It may be nil.
		Fill *messages.FillGameSession

		publisher *Publisher
		views     []*playerSessionView
	}
	// PlayerSessionChanged reports a player session's new status. It is not sent when the game session ends.
	PlayerSessionChanged struct {
		Session messages.GameSessionID
		Record  *messages.PlayerSession
	}
	// PlayerSessionsForgotten lists player sessions that the game session no longer keeps.
	PlayerSessionsForgotten struct {
		Session messages.GameSessionID
		IDs     []messages.PlayerSessionID
	}
	// Changed says that the game session has become ACTIVE or TERMINATING.
	Changed struct{ Session messages.GameSessionID }
	// BackfillAsked forwards a backfill request of the game.
	BackfillAsked struct {
		Session messages.GameSessionID
		messages.AskBackfill
	}
	// Ready says that a stand-by process is ready for a game session.
	Ready struct{ Ref *stage.Ref }
	// Over says that the game session has ended. stage.Exited follows. Session is empty if the process had no game
	// session.
	Over struct {
		Session messages.GameSessionID
		Ref     *stage.Ref
		Text    string
		Failed  bool // the game caused the end by a failure
		Moments []messages.Moment
	}
	// Crashed carries the timeline of a game session whose actor has crashed. stage.Exited follows.
	Crashed struct {
		Session messages.GameSessionID
		Moments []messages.Moment
	}
)

// Messages that the actor sends to itself.
type (
	emptyCheck  struct{}
	healthCheck struct{}
	forcedExit  struct{}
	closeOver   struct{}
	overdue     struct{ p *script.Pending }
	ackDue      struct{}
	task        struct{ f func() }
)

// restarts counts events, such as restarts of one child, within restartWindow.
type restarts struct {
	count int
	since int64 // time of the first event in the window, in Unix nanoseconds
}

func (r *restarts) allow(now int64, most int) bool {
	if now-r.since > int64(restartWindow) {
		r.since, r.count = now, 0
	}
	r.count++
	return r.count <= most
}

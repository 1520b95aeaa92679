package messages

// StartMatchBackfill requests more players for a game session that a match created (flexmatch.md 16.1).
type StartMatchBackfill struct {
	ToMatchmaking[*Ticket]
	TicketID   TicketID
	Matchmaker MatchmakerName
	Session    GameSessionID  // empty for a STANDALONE configuration
	Players    []TicketPlayer // the current players, 1 to 199, each once, with their teams
	Call       string         // see WithID
}

// Backfill holds the additional fields of a backfill ticket. The ticket's players are those of the game session.
type Backfill struct {
	Session   GameSessionID `json:",omitempty"` // empty if the matchmaking configuration has no queue
	Automatic bool          `json:",omitempty"` // the host created the ticket (automatic backfill)
	Room      int           `json:",omitempty"` // maximum number of players that a match may add; 0 means as many as the teams take
}

// MatchedGame is what matchmaking stores about a game session that a match created, until the game session ends. It is
// immutable once shared.
type MatchedGame struct {
	Session    GameSessionID
	Matchmaker MatchmakerName
	Match      MatchID        // the match that created the game session, or the last one that added players
	Players    []TicketPlayer // all players that matches have added, with their teams and latencies; those of the last match come first
	Automatic  bool           // a free place in the game session gets a new backfill ticket
	NextTicket TicketID       `json:",omitempty"` // id of the next automatic ticket, which is announced in the matchmaker data
}

// UpdateReason is the reason for telling a game session about a backfill request (flexmatch.md 16).
type UpdateReason string

// Values of UpdateReason.
const (
	MatchDataUpdated  UpdateReason = "MATCHMAKING_DATA_UPDATED"
	BackfillFailed    UpdateReason = "BACKFILL_FAILED"
	BackfillTimedOut  UpdateReason = "BACKFILL_TIMED_OUT"
	BackfillCancelled UpdateReason = "BACKFILL_CANCELLED"
)

// FillGameSession changes a game session that a match created. Either all of the changes are made or none.
type FillGameSession struct {
	ToGameSession[*FilledGameSession]
	Session GameSessionID
	// Match and Players add the players of a match. If the request is repeated for the same match, no players are
	// added.
	Match   MatchID
	Players []NewPlayer
	// Data replaces the matchmaker data. If it is empty, the data stays the same.
	Data string
	// Reason and Ticket are passed to the game. If Reason is empty, the game is not notified.
	Reason UpdateReason
	Ticket TicketID
}

// FilledGameSession is the answer to FillGameSession.
type FilledGameSession struct {
	Session *GameSession
	Placed  []PlacedPlayer // all player sessions that are RESERVED or ACTIVE
}

// AskBackfill is a game's request for its own game session: to start a backfill or, with Stop, to stop it.
type AskBackfill struct {
	Ticket TicketID // id of the new backfill ticket; empty with Stop
	Stop   bool
	// Leaving lists players that are about to leave. The game may send the request while it is being told that their
	// player sessions end.
	Leaving []PlayerID
}

// GameSeats describes the free and occupied places of a game session at one moment.
type GameSeats struct {
	Live    bool // the game session is ACTIVE, and nobody has requested its end
	Over    bool // the game session can never become live again
	Accepts bool // PlayerSessionCreationPolicy ACCEPT_ALL
	Free    int
	Players []PlayerID // players whose player sessions are RESERVED or ACTIVE, in order of creation
}

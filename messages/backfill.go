package messages

// StartMatchBackfill asks for more players for a game session that a match has made (flexmatch.md 16.1).
type StartMatchBackfill struct {
	ToMatchmaking[*Ticket]
	TicketID   TicketID
	Matchmaker MatchmakerName
	Session    GameSessionID  // empty for a STANDALONE configuration
	Players    []TicketPlayer // the current players, 1 to 199, each once, with their teams
}

// Backfill is what a backfill ticket has besides its players, who are those of the game session.
type Backfill struct {
	Session   GameSessionID `json:",omitempty"` // empty without a queue
	Automatic bool          `json:",omitempty"` // the host has made it
	Room      int           `json:",omitempty"` // a match adds no more players; 0: as many as the teams take
}

// MatchedGame is what matchmaking keeps of a game session that a match has made, until its end. Immutable once shared.
type MatchedGame struct {
	Session    GameSessionID
	Matchmaker MatchmakerName
	Match      MatchID        // the match that made it, or the last one that added players
	Players    []TicketPlayer // all that matches have brought, with their teams and latencies; the last match comes first
	Automatic  bool           // a seat that is free gets a new backfill ticket
	NextTicket TicketID       `json:",omitempty"` // the id of the next automatic ticket, which matchmaker data announces
}

// UpdateReason is why a game session is told of a backfill request (flexmatch.md 16).
type UpdateReason string

// The reasons.
const (
	MatchDataUpdated  UpdateReason = "MATCHMAKING_DATA_UPDATED"
	BackfillFailed    UpdateReason = "BACKFILL_FAILED"
	BackfillTimedOut  UpdateReason = "BACKFILL_TIMED_OUT"
	BackfillCancelled UpdateReason = "BACKFILL_CANCELLED"
)

// FillGameSession changes a game session that a match has made: all of it, or nothing.
type FillGameSession struct {
	ToGameSession[*FilledGameSession]
	Session GameSessionID
	// Match, with Players, adds their player sessions. A repetition for the same match adds none.
	Match   MatchID
	Players []NewPlayer
	// Data replaces the matchmaker data; empty leaves it.
	Data string
	// Reason and Ticket are told to the game; without a reason it is told nothing.
	Reason UpdateReason
	Ticket TicketID
}

// FilledGameSession is the answer to FillGameSession.
type FilledGameSession struct {
	Session *GameSession
	Placed  []PlacedPlayer // all player sessions that are RESERVED or ACTIVE
}

// AskBackfill is a request of a game for its own game session: to start or, with Stop, to stop a backfill.
type AskBackfill struct {
	Ticket  TicketID // of the new backfill ticket; empty with Stop
	Stop    bool
	Leaving []PlayerID // who are about to give up their seats: the game may ask while it is told of their end
}

// GameSeats are the seats of a game session at one moment.
type GameSeats struct {
	Live    bool // ACTIVE, and no end was asked for
	Over    bool // it never becomes live again
	Accepts bool // PlayerSessionCreationPolicy ACCEPT_ALL
	Free    int
	Players []PlayerID // of player sessions RESERVED or ACTIVE, in order of creation
}

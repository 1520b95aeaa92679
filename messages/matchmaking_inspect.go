package messages

import "time"

// MatchmakerState is the state of a matchmaking configuration, for operators. Ended tickets are counted since the host
// started matchmaking.
type MatchmakerState struct {
	*Matchmaker `json:"Matchmaker"` // one JSON member, so that nil stays nil

	// Numbers of tickets that have not ended: without a match, in a match that waits for acceptance, and in a match
	// that is being placed.
	Waiting, Accepting, Placing            int
	Completed, TimedOut, Cancelled, Failed int64
	// Longest is the ticket that has been without a match for the longest time. It is empty if there is none.
	Longest     TicketID
	LongestWait time.Duration // waiting time of that ticket
	LastPass    time.Duration // duration of the last search for matches; 0 if there was none
}

// TicketList requests the tickets that have not ended, for operators.
type TicketList struct {
	ToMatchmaking[ListedTickets]
	Matchmaker MatchmakerName // empty means all configurations
	Limit      int
}

// ListedTickets contains the tickets that have waited longest, oldest first, and the total number of matching tickets.
type ListedTickets struct {
	Tickets []*Ticket
	Matched int
}

// WhyTicket asks why a matchmaking ticket is waiting. The error is NotFound if the ticket is unknown. The answer is
// computed concurrently with the search for matches and takes some milliseconds.
type WhyTicket struct {
	ToMatchmaking[*TicketWait]
	ID TicketID
}

// TicketWait describes why a matchmaking ticket is waiting, for operators (docs/matchmaking.md).
type TicketWait struct {
	*Ticket `json:"Ticket"` // one JSON member, because both structs have Players

	Says     string        // the description, as a sentence
	TimesOut time.Time     // zero unless the ticket waits for a match
	Searched bool          // the ticket takes part in the search for matches; only then are the following values set
	Others   int           // number of other tickets in the search
	Sampled  int           // number of these tickets that were examined; the following numbers refer to them
	Fitting  int           // number of examined tickets that could be paired with this ticket under all rules
	Players  int           // number of players in this ticket and in the fitting ones
	Needed   int           // minimum number of players in a match
	Blocked  []TicketBlock // sorted by number of tickets, highest first
	Next     []RuleChange  // what the next step of the expansions changes for this ticket
	NextIn   time.Duration // time until that step; 0 if there is none
}

// TicketBlock says how many other tickets a rule excludes from a match with a ticket. A reason that is not a rule has a
// name in parentheses.
type TicketBlock struct {
	Rule    string
	Tickets int
	Example TicketID // one of the excluded tickets
}

// RuleChange is a change made by one step of an expansion. The values are JSON.
type RuleChange struct{ Target, From, To string }

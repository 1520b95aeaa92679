package messages

import "time"

// MatchmakerState is a matchmaking configuration for operators. Ended tickets count from the host's start of matchmaking.
type MatchmakerState struct {
	*Matchmaker `json:"Matchmaker"` // a member, not members: nil stays nil

	Waiting, Accepting, Placing            int // tickets that have not ended: in no match, in a match to be accepted, in a match that looks for its game session
	Completed, TimedOut, Cancelled, Failed int64
	Longest                                TicketID      // the ticket that has waited for a match for the longest time; empty: none waits
	LongestWait                            time.Duration // of that ticket
	LastPass                               time.Duration // how long the last search for matches has computed; 0: there was none
}

// TicketList asks for the tickets that have not ended, for operators.
type TicketList struct {
	ToMatchmaking[ListedTickets]
	Matchmaker MatchmakerName // empty: of all configurations
	Limit      int
}

// ListedTickets are those that have waited longest, oldest first, and how many there are.
type ListedTickets struct {
	Tickets []*Ticket
	Matched int
}

// WhyTicket asks why a matchmaking ticket waits; NotFound if it is not known. It takes some milliseconds beside the search for matches.
type WhyTicket struct {
	ToMatchmaking[*TicketWait]
	ID TicketID
}

// TicketWait says why a matchmaking ticket waits, for operators (docs/matchmaking.md).
type TicketWait struct {
	*Ticket `json:"Ticket"` // a member, not members: both have Players

	Says     string        // in a sentence
	TimesOut time.Time     // zero unless it waits for a match
	Searched bool          // the ticket is in the search for matches: the values below are known
	Others   int           // other tickets there
	Sampled  int           // of them, those that were looked at; the numbers below are of these
	Fitting  int           // those that no rule keeps apart from this one, as a pair
	Players  int           // players of this ticket and of the fitting ones
	Needed   int           // the fewest players of a match
	Blocked  []TicketBlock // most tickets first
	Next     []RuleChange  // what the next step of expansions changes for this ticket
	NextIn   time.Duration // until then; 0: there is none
}

// TicketBlock says how many other tickets a rule keeps from a ticket. The names of the reasons that are no rules are in parentheses.
type TicketBlock struct {
	Rule    string
	Tickets int
	Example TicketID // one of them
}

// RuleChange is what a step of an expansion changes; values are JSON.
type RuleChange struct{ Target, From, To string }

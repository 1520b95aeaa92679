package messages

import (
	"time"
)

// TicketID names a matchmaking ticket; the caller chooses it, or it is a UUID.
type TicketID string

// MatchID names a match; it is also the id of its placement (flexmatch.md 15).
type MatchID string

// RuleSetName names a matchmaking rule set; the caller chooses it.
type RuleSetName string

// MatchmakerName names a matchmaking configuration; the caller chooses it.
type MatchmakerName string

// RuleSet is a matchmaking rule set. Immutable.
type RuleSet struct {
	Name    RuleSetName
	ARN     string
	Body    string // valid JSON of the rule set language; at most 65,535 characters
	Created time.Time
	Tags    map[string]string
}

// Matchmaker is a matchmaking configuration. Immutable once shared.
type Matchmaker struct {
	Name               MatchmakerName
	ARN                string
	Description        string
	RuleSet            RuleSetName
	RuleSetARN         string
	Standalone         bool        // FlexMatchMode STANDALONE; false: WITH_QUEUE
	Queues             []QueueName // the first one places all matches; empty with Standalone
	QueueARNs          []string    // as the caller gave them
	RequestTimeout     time.Duration
	AcceptanceRequired bool
	AcceptanceTimeout  time.Duration // 0: not set
	AdditionalPlayers  int           // seats that matches leave free
	AutoBackfill       bool          // BackfillMode AUTOMATIC; false: MANUAL
	Properties         []Property    // of the game sessions
	Data               string        // of the game sessions
	CustomEventData    string
	Notify             string // NotificationTarget
	Created            time.Time
	Tags               map[string]string
}

// AcceptWithin is the time that players have to accept a match.
func (m *Matchmaker) AcceptWithin() time.Duration {
	const unset = 60 * time.Second // flexmatch.md 14
	if m.AcceptanceTimeout > 0 {
		return m.AcceptanceTimeout
	}
	return unset
}

// UpdateMatchmaker changes a matchmaking configuration. Nil leaves a value; an empty list or text removes it.
type UpdateMatchmaker struct {
	ToMatchmaking[*Matchmaker]
	Name               MatchmakerName
	Description        *string
	RuleSet            *RuleSetName
	Standalone         *bool
	Queues             *[]QueueName
	QueueARNs          []string // of Queues
	RequestTimeout     *time.Duration
	AcceptanceRequired *bool
	AcceptanceTimeout  *time.Duration
	AdditionalPlayers  *int
	AutoBackfill       *bool
	Properties         *[]Property
	Data               *string
	CustomEventData    *string
	Notify             *string
}

// Apply returns a copy of m with the changes of u.
func (u *UpdateMatchmaker) Apply(m *Matchmaker) *Matchmaker {
	next := *m
	Replace(&next.Description, u.Description)
	Replace(&next.RuleSet, u.RuleSet)
	Replace(&next.Standalone, u.Standalone)
	if u.Queues != nil {
		next.Queues, next.QueueARNs = *u.Queues, u.QueueARNs
	}
	Replace(&next.RequestTimeout, u.RequestTimeout)
	Replace(&next.AcceptanceRequired, u.AcceptanceRequired)
	Replace(&next.AcceptanceTimeout, u.AcceptanceTimeout)
	Replace(&next.AdditionalPlayers, u.AdditionalPlayers)
	Replace(&next.AutoBackfill, u.AutoBackfill)
	Replace(&next.Properties, u.Properties)
	Replace(&next.Data, u.Data)
	Replace(&next.CustomEventData, u.CustomEventData)
	Replace(&next.Notify, u.Notify)
	return &next
}

// TicketStatus is the state of a matchmaking ticket (flexmatch.md 13.1).
type TicketStatus uint8

// Ticket statuses; the last four are final.
const (
	TicketQueued TicketStatus = iota + 1
	TicketSearching
	TicketRequiresAcceptance
	TicketPlacing
	TicketCompleted
	TicketFailed
	TicketCancelled
	TicketTimedOut
)

var ticketStatusNames = [...]string{"", "QUEUED", "SEARCHING", "REQUIRES_ACCEPTANCE", "PLACING", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}

// String returns the API's name.
func (s TicketStatus) String() string { return nameOf(ticketStatusNames[:], int(s)) }

// Final reports whether the status never changes again.
func (s TicketStatus) Final() bool { return s >= TicketCompleted }

// AttributeKind is the member of an AttributeValue that has the value.
type AttributeKind string

// The kinds.
const (
	AttributeText   AttributeKind = "S"
	AttributeNumber AttributeKind = "N"
	AttributeTexts  AttributeKind = "SL"
	AttributeMap    AttributeKind = "SDM"
)

// Attribute is the value of a player attribute.
type Attribute struct {
	Kind AttributeKind
	S    string             `json:",omitempty"`
	N    float64            `json:",omitempty"`
	SL   []string           `json:",omitempty"`
	SDM  map[string]float64 `json:",omitempty"`
}

// TicketPlayer is a player of a matchmaking ticket.
type TicketPlayer struct {
	ID         PlayerID
	Attributes map[string]Attribute `json:",omitempty"`
	Latencies  map[string]int       `json:",omitempty"` // ms by location
	Team       string               `json:",omitempty"` // once matched
}

// StartMatchmaking asks for a match for some players.
type StartMatchmaking struct {
	ToMatchmaking[*Ticket]
	TicketID   TicketID
	Matchmaker MatchmakerName
	Players    []TicketPlayer // 1 to 10, each once
}

// AcceptMatch accepts or rejects a match for some players of a ticket.
type AcceptMatch struct {
	ToMatchmaking[None]
	TicketID TicketID
	Players  []PlayerID
	Accept   bool
}

// Ticket is a matchmaking ticket at one moment. Immutable once shared.
type Ticket struct {
	ID         TicketID
	Matchmaker MatchmakerName
	ARN        string // of the matchmaking configuration
	Status     TicketStatus
	Reason     string `json:",omitempty"` // StatusReason
	Text       string `json:",omitempty"` // StatusMessage
	Started    time.Time
	Ended      time.Time // zero until Status is final
	Players    []TicketPlayer
	Match      MatchID         `json:",omitempty"` // the match it is in, or was in when it ended
	Game       *MatchedSession `json:",omitempty"` // once COMPLETED, except without a queue; of a backfill ticket the id from the start
	Backfill   *Backfill       `json:",omitempty"` // nil: players who look for a game session
	// EstimatedWait is how long it will wait in addition, by recent matches; 0: unknown. It is not stored.
	EstimatedWait time.Duration `json:"-"`
}

// MatchedSession is the game session of a match, with the player sessions of one ticket.
type MatchedSession struct {
	ID        GameSessionID
	IPAddress string
	DNSName   string
	Port      int
	Placed    []PlacedPlayer
}

// Match is a match with open tickets: players are to accept it, or a placement looks for a game session. Immutable once shared.
type Match struct {
	ID         MatchID
	Matchmaker MatchmakerName
	Proposed   time.Time
	Placing    bool
	MaxPlayers int // MaximumPlayerSessionCount of its game session
	Tickets    []TicketID
	Teams      []MatchTeam
	Answers    map[PlayerID]bool `json:",omitempty"` // accepted or rejected; absent: no answer
	NextTicket TicketID          `json:",omitempty"` // of the automatic backfill that follows; empty: none does
}

// MatchTeam is one team of a match; it may be empty.
type MatchTeam struct {
	Name    string
	Players []PlayerID
}

// CheckRuleSet refuses the body of a rule set that is not valid: InvalidRequest, with the place in the body.
type CheckRuleSet struct {
	ToThisHost[None]
	Body string
}

// CreateRuleSet makes a rule set. A body that is not valid and a name that is taken are InvalidRequest.
type CreateRuleSet struct {
	ToMatchmaking[*RuleSet]
	RuleSet RuleSet
}

// DeleteRuleSet deletes a rule set. One that a configuration uses is InvalidRequest.
type DeleteRuleSet struct {
	ToMatchmaking[None]
	Name RuleSetName
}

// RuleSetQuery asks for all rule sets, oldest first.
type RuleSetQuery struct{ ToMatchmaking[[]*RuleSet] }

// CreateMatchmaker makes a matchmaking configuration. NotFound: its rule set or queue; InvalidRequest: contradictions, or a taken name.
type CreateMatchmaker struct {
	ToMatchmaking[*Matchmaker]
	Matchmaker Matchmaker
}

// DeleteMatchmaker deletes a matchmaking configuration. One with tickets that have not ended is InvalidRequest.
type DeleteMatchmaker struct {
	ToMatchmaking[None]
	Name MatchmakerName
}

// MatchmakerQuery asks for all matchmaking configurations, oldest first.
type MatchmakerQuery struct{ ToMatchmaking[[]*Matchmaker] }

// MatchmakerStateQuery asks for what goes on in all matchmaking configurations, oldest first.
type MatchmakerStateQuery struct {
	ToMatchmaking[[]MatchmakerState]
}

// TicketQuery asks for tickets, in the order of their ids here. Unknown ones are left out.
type TicketQuery struct {
	ToMatchmaking[[]*Ticket]
	IDs []TicketID
}

// StopMatchmaking cancels a ticket. One that is PLACING or has ended is InvalidRequest.
type StopMatchmaking struct {
	ToMatchmaking[None]
	ID TicketID
}

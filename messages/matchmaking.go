package messages

import (
	"time"
)

// TicketID identifies a matchmaking ticket. The caller may choose it; otherwise it is a UUID.
type TicketID string

// MatchID identifies a match. It is also the id of the match's placement (flexmatch.md 15).
type MatchID string

// RuleSetName identifies a matchmaking rule set. The caller chooses it.
type RuleSetName string

// MatchmakerName identifies a matchmaking configuration. The caller chooses it.
type MatchmakerName string

// RuleSet is a matchmaking rule set. It is immutable.
type RuleSet struct {
	Name    RuleSetName
	ARN     string
	Body    string // valid JSON in the rule set language; at most 65,535 characters
	Created time.Time
	Tags    map[string]string
	Call    string `json:",omitempty"` // see WithID
}

// Matchmaker is a matchmaking configuration. It is immutable once shared.
type Matchmaker struct {
	Name               MatchmakerName
	ARN                string
	Description        string
	RuleSet            RuleSetName
	RuleSetARN         string
	Standalone         bool        // FlexMatchMode is STANDALONE; otherwise it is WITH_QUEUE
	Queues             []QueueName // the first queue places all matches; empty with Standalone
	QueueARNs          []string    // ARNs of Queues as the caller gave them
	RequestTimeout     time.Duration
	AcceptanceRequired bool
	AcceptanceTimeout  time.Duration // 0 means not set
	AdditionalPlayers  int           // number of places that matches leave free
	AutoBackfill       bool          // BackfillMode is AUTOMATIC; otherwise it is MANUAL
	Properties         []Property    // game properties of the game sessions
	Data               string        // game session data of the game sessions
	CustomEventData    string
	Notify             string // NotificationTarget
	Created            time.Time
	Tags               map[string]string
	Call               string `json:",omitempty"` // see WithID
}

// AcceptWithin returns the time limit for players to accept a match.
func (m *Matchmaker) AcceptWithin() time.Duration {
	const unset = 60 * time.Second // flexmatch.md 14
	if m.AcceptanceTimeout > 0 {
		return m.AcceptanceTimeout
	}
	return unset
}

// UpdateMatchmaker changes a matchmaking configuration. A nil value stays the same. An empty list or text removes the
// value.
type UpdateMatchmaker struct {
	ToMatchmaking[*Matchmaker]
	Name               MatchmakerName
	Description        *string
	RuleSet            *RuleSetName
	Standalone         *bool
	Queues             *[]QueueName
	QueueARNs          []string // ARNs of Queues
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

// Apply returns a copy of m with the changes in u.
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

// Values of TicketStatus. The last four are final.
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

// String returns the status name used by the API.
func (s TicketStatus) String() string { return nameOf(ticketStatusNames[:], int(s)) }

// Final reports whether the status is final, so that it never changes again.
func (s TicketStatus) Final() bool { return s >= TicketCompleted }

// AttributeKind is the name of the field of an API AttributeValue that holds the value.
type AttributeKind string

// Values of AttributeKind.
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

// TicketPlayer is a player in a matchmaking ticket.
type TicketPlayer struct {
	ID         PlayerID
	Attributes map[string]Attribute `json:",omitempty"`
	Latencies  map[string]int       `json:",omitempty"` // latency in ms, by location
	Team       string               `json:",omitempty"` // set once the player is matched
}

// StartMatchmaking requests a match for some players.
type StartMatchmaking struct {
	ToMatchmaking[*Ticket]
	TicketID   TicketID
	Matchmaker MatchmakerName
	Players    []TicketPlayer // 1 to 10 players, each once
	Call       string         // see WithID
}

// AcceptMatch accepts or rejects a match on behalf of some players of a ticket.
type AcceptMatch struct {
	ToMatchmaking[None]
	TicketID TicketID
	Players  []PlayerID
	Accept   bool
}

// Ticket is the state of a matchmaking ticket at one moment. It is immutable once shared.
type Ticket struct {
	ID         TicketID
	Matchmaker MatchmakerName
	ARN        string // ARN of the matchmaking configuration
	Status     TicketStatus
	Reason     string `json:",omitempty"` // StatusReason
	Text       string `json:",omitempty"` // StatusMessage
	Started    time.Time
	Ended      time.Time // zero until Status is final
	Players    []TicketPlayer
	Match      MatchID `json:",omitempty"` // the ticket's current match, or the match it was in when it ended
	// Game is set once COMPLETED, unless there is no queue. For a backfill ticket its ID is set from the start.
	Game     *MatchedSession `json:",omitempty"`
	Backfill *Backfill       `json:",omitempty"` // nil for players that look for a game session
	// EstimatedWait is the estimated further waiting time, based on recent matches. It is 0 if unknown. It is not
	// stored.
	EstimatedWait time.Duration `json:"-"`
	Call          string        `json:",omitempty"` // see WithID
}

// MatchedSession is the game session of a match together with the player sessions of one ticket.
type MatchedSession struct {
	ID        GameSessionID
	IPAddress string
	DNSName   string
	Port      int
	Placed    []PlacedPlayer
}

// Match is a match with open tickets. Either its players must still accept it, or a placement is looking for a game
// session. It is immutable once shared.
type Match struct {
	ID         MatchID
	Matchmaker MatchmakerName
	Proposed   time.Time
	Placing    bool
	MaxPlayers int // MaximumPlayerSessionCount of its game session
	Tickets    []TicketID
	Teams      []MatchTeam
	Answers    map[PlayerID]bool `json:",omitempty"` // true if accepted, false if rejected; absent if not answered
	NextTicket TicketID          `json:",omitempty"` // id of the automatic backfill ticket that will follow; empty if none will
}

// MatchTeam is one team of a match. It may be empty.
type MatchTeam struct {
	Name    string
	Players []PlayerID
}

// CheckRuleSet checks the body of a rule set. If the body is invalid, the error is InvalidRequest and contains the
// position in the body.
type CheckRuleSet struct {
	ToThisHost[None]
	Body string
}

// CreateRuleSet creates a rule set. The error is InvalidRequest if the body is invalid or the name is taken.
type CreateRuleSet struct {
	ToMatchmaking[*RuleSet]
	RuleSet RuleSet
}

// DeleteRuleSet deletes a rule set. The error is InvalidRequest if a matchmaking configuration uses it.
type DeleteRuleSet struct {
	ToMatchmaking[None]
	Name RuleSetName
}

// RuleSetQuery requests all rule sets, oldest first.
type RuleSetQuery struct{ ToMatchmaking[[]*RuleSet] }

// CreateMatchmaker creates a matchmaking configuration. The error is NotFound if its rule set or queue does not exist.
// It is InvalidRequest if settings contradict each other or the name is taken.
type CreateMatchmaker struct {
	ToMatchmaking[*Matchmaker]
	Matchmaker Matchmaker
}

// DeleteMatchmaker deletes a matchmaking configuration. The error is InvalidRequest if it has tickets that have not
// ended.
type DeleteMatchmaker struct {
	ToMatchmaking[None]
	Name MatchmakerName
}

// MatchmakerQuery requests all matchmaking configurations, oldest first.
type MatchmakerQuery struct{ ToMatchmaking[[]*Matchmaker] }

// MatchmakerStateQuery requests the states of all matchmaking configurations, oldest first.
type MatchmakerStateQuery struct {
	ToMatchmaking[[]MatchmakerState]
}

// TicketQuery requests the tickets with the given ids, in the order of IDs. Unknown tickets are omitted from the
// answer.
type TicketQuery struct {
	ToMatchmaking[[]*Ticket]
	IDs []TicketID
}

// StopMatchmaking cancels a ticket. The error is InvalidRequest if the ticket is PLACING or has ended.
type StopMatchmaking struct {
	ToMatchmaking[None]
	ID TicketID
}

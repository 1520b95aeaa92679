package matchmaker

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"troupe/actors/matchmaker/match"
	"troupe/messages"
)

// detail is the content of an event about tickets (flexmatch.md 18).
type detail struct {
	Type               string     `json:"type"`
	Tickets            []told     `json:"tickets"`
	EstimatedWait      string     `json:"estimatedWaitMillis,omitempty"`
	AcceptanceRequired *bool      `json:"acceptanceRequired,omitempty"`
	AcceptanceTimeout  int        `json:"acceptanceTimeout,omitempty"` // in seconds
	Acceptance         acceptance `json:"acceptance,omitempty"`
	Metrics            *[]metric  `json:"ruleEvaluationMetrics,omitempty"`
	Reason             string     `json:"reason,omitempty"`
	Message            string     `json:"message,omitempty"`
	Game               gameInfo   `json:"gameSessionInfo"`
	Match              string     `json:"matchId,omitempty"`
	CustomEventData    string     `json:"customEventData,omitempty"`
}

type (
	told struct {
		ID      messages.TicketID `json:"ticketId"`
		Start   string            `json:"startTime"`
		Players []toldPlayer      `json:"players"`
	}
	toldPlayer struct {
		ID       messages.PlayerID `json:"playerId"`
		Team     string            `json:"team,omitempty"`
		Accepted *bool             `json:"accepted,omitempty"` // nil if the player has not answered (FM-35)
		Seat     string            `json:"playerSessionId,omitempty"`
	}
	gameInfo struct {
		ARN     messages.GameSessionID `json:"gameSessionArn,omitempty"`
		IP      string                 `json:"ipAddress,omitempty"`
		DNS     string                 `json:"dnsName,omitempty"`
		Port    int                    `json:"port,omitempty"`
		Players []toldPlayer           `json:"players"`
	}
	metric struct {
		Rule   string `json:"ruleName"`
		Passed int    `json:"passedCount"`
		Failed int    `json:"failedCount"`
	}
)

// event returns an event about tickets. It takes the players' answers from r and their player sessions from
// seats. Both may be nil.
func (k *matchmaker) event(
	d *detail, tickets []*messages.Ticket, r *messages.Match, seats map[messages.PlayerID]messages.PlayerSessionID, now time.Time,
) messages.Event {
	d.CustomEventData = k.record.CustomEventData
	d.Tickets, d.Game.Players = make([]told, len(tickets)), []toldPlayer{}
	for i, t := range tickets {
		d.Tickets[i] = told{t.ID, messages.EventTime(t.Started), make([]toldPlayer, len(t.Players))}
		for j, p := range t.Players {
			shown := toldPlayer{ID: p.ID, Team: p.Team, Seat: string(seats[p.ID])}
			if r != nil {
				if yes, answered := r.Answers[p.ID]; answered {
					shown.Accepted = &yes
				}
			}
			d.Tickets[i].Players[j] = shown
			d.Game.Players = append(d.Game.Players, shown)
		}
	}
	if r != nil {
		d.Match = string(r.ID)
	}
	return messages.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: messages.EventMatchmaking, Type: d.Type, Time: now,
		Name: string(k.record.Name), ARN: k.record.ARN, Target: k.record.Notify, Detail: []byte(encode(d)),
	}
}

// searchingEvent reports that a ticket has entered the pool, for the first time or again.
func searchingEvent(k *matchmaker, t *messages.Ticket, now time.Time) messages.Event {
	d := detail{Type: "MatchmakingSearching", EstimatedWait: "NOT_AVAILABLE"}
	if wait, ok := k.recent.Estimate(now, now.Sub(t.Started)); ok {
		d.EstimatedWait = strconv.FormatInt(wait.Milliseconds(), 10) // encoded as a string (FM-36)
	}
	return k.event(&d, []*messages.Ticket{t}, nil, nil, now)
}

func potentialEvent(p *proposal, tickets []*messages.Ticket, rules []match.RuleCount, now time.Time) messages.Event {
	required := p.k.record.AcceptanceRequired
	metrics := make([]metric, len(rules))
	for i, r := range rules {
		metrics[i] = metric{r.Name, r.Passed, r.Failed}
	}
	d := detail{Type: "PotentialMatchCreated", AcceptanceRequired: &required, Metrics: &metrics}
	if required {
		d.AcceptanceTimeout = int(p.k.record.AcceptWithin() / time.Second)
	}
	return p.k.event(&d, tickets, p.record, nil, now)
}

// acceptanceEvent reports an answer, or the end of the acceptance. It contains all answers so far.
func (p *proposal) acceptanceEvent(record *messages.Match, d detail, now time.Time) messages.Event {
	return p.k.event(&d, p.records(), record, nil, now)
}

// succeededEvent reports a match with its game session. r is nil for a match of a STANDALONE configuration.
func succeededEvent(p *proposal, tickets []*messages.Ticket, r *messages.Placement, now time.Time) messages.Event {
	d := detail{Type: "MatchmakingSucceeded"}
	var seats map[messages.PlayerID]messages.PlayerSessionID
	if r != nil {
		d.Game = gameInfo{ARN: r.GameSessionID, IP: r.IPAddress, DNS: r.DNSName, Port: r.Port}
		seats = make(map[messages.PlayerID]messages.PlayerSessionID, len(r.Placed))
		for _, s := range r.Placed {
			seats[s.PlayerID] = s.PlayerSessionID
		}
	}
	return p.k.event(&d, tickets, &messages.Match{ID: p.record.ID}, seats, now)
}

// endEvent reports the end of one ticket. r is the match that the ticket was in, or nil.
func endEvent(k *matchmaker, t *messages.Ticket, r *messages.Match, now time.Time) messages.Event {
	d := detail{Message: t.Text, Metrics: &[]metric{}}
	switch t.Status {
	case messages.TicketTimedOut:
		d.Type, d.Reason = "MatchmakingTimedOut", reasonTimedOut
	case messages.TicketCancelled:
		d.Type, d.Reason = "MatchmakingCancelled", reasonCancelled
	default:
		d.Type, d.Reason = "MatchmakingFailed", reasonError
	}
	return k.event(&d, []*messages.Ticket{t}, r, nil, now)
}

package serviceapi

import (
	"context"

	"troupe/messages"
)

// MatchmakingBackend is the part of a Backend for matchmaking. A method that changes something returns once the change is durable.
type MatchmakingBackend interface {
	// CheckRuleSet refuses a body that is not valid as InvalidRequest, with the place in the body.
	CheckRuleSet(body string) error
	// CreateRuleSet makes a rule set. A body that is not valid and a name that is taken are InvalidRequest.
	CreateRuleSet(ctx context.Context, r messages.RuleSet) (*messages.RuleSet, error)
	// RuleSets answers all rule sets.
	RuleSets(ctx context.Context) ([]*messages.RuleSet, error)
	// DeleteRuleSet deletes a rule set; one that a configuration uses is InvalidRequest.
	DeleteRuleSet(ctx context.Context, name messages.RuleSetName) error

	// CreateMatchmaker makes a configuration. An unknown rule set or queue is NotFound, contradictions and a name that is taken are
	// InvalidRequest.
	CreateMatchmaker(ctx context.Context, r messages.Matchmaker) (*messages.Matchmaker, error)
	// UpdateMatchmaker changes the given fields.
	UpdateMatchmaker(ctx context.Context, u messages.UpdateMatchmaker) (*messages.Matchmaker, error)
	// Matchmakers answers all configurations.
	Matchmakers(ctx context.Context) ([]*messages.Matchmaker, error)
	// DeleteMatchmaker deletes a configuration; one with tickets that have not ended is InvalidRequest.
	DeleteMatchmaker(ctx context.Context, name messages.MatchmakerName) error

	// StartMatchmaking starts a ticket, and answers with it as QUEUED. Without an id it gets one. Too many tickets at a time are
	// LimitExceeded.
	StartMatchmaking(ctx context.Context, q messages.StartMatchmaking) (*messages.Ticket, error)
	// StartMatchBackfill starts a backfill ticket, and answers with it as QUEUED. An unknown game session is NotFound, one that is not
	// ACTIVE InvalidRequest. Too many tickets at a time are LimitExceeded.
	StartMatchBackfill(ctx context.Context, q messages.StartMatchBackfill) (*messages.Ticket, error)
	// Tickets answers tickets, without unknown ones.
	Tickets(ctx context.Context, ids []messages.TicketID) ([]*messages.Ticket, error)
	// StopMatchmaking cancels a ticket; one that is PLACING or has ended is InvalidRequest.
	StopMatchmaking(ctx context.Context, id messages.TicketID) error
	// AcceptMatch answers for players of a ticket; one without a match to accept is InvalidRequest.
	AcceptMatch(ctx context.Context, q messages.AcceptMatch) error
}

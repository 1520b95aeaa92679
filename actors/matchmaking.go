package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/tracing"
)

// CheckRuleSet refuses the body of a rule set that is not valid. The error is InvalidRequest, with the place in the body.
func CheckRuleSet(body string) error {
	_, err := matchmaker.Compile(messages.RuleSet{Body: body})
	return err
}

// CheckRuleSet is the function CheckRuleSet.
func (s *System) CheckRuleSet(body string) error { return CheckRuleSet(body) }

// CreateRuleSet makes a rule set of a valid body.
func (s *System) CreateRuleSet(ctx context.Context, r messages.RuleSet) (*messages.RuleSet, error) {
	compiled, err := matchmaker.Compile(r)
	if err != nil {
		return nil, err
	}
	return ask[*messages.RuleSet](ctx, s.matchmaking, compiled)
}

// DeleteRuleSet deletes a rule set that no configuration uses.
func (s *System) DeleteRuleSet(ctx context.Context, name messages.RuleSetName) error {
	_, err := ask[stage.None](ctx, s.matchmaking, matchmaker.DropRuleSet{Name: name})
	return err
}

// RuleSets reads all rule sets, oldest first.
func (s *System) RuleSets(ctx context.Context) ([]*messages.RuleSet, error) {
	return ask[[]*messages.RuleSet](ctx, s.matchmaking, matchmaker.RuleSets{})
}

// checkQueueNames refuses queues that do not exist.
func (s *System) checkQueueNames(ctx context.Context, names []messages.QueueName) error {
	if len(names) == 0 {
		return nil
	}
	all, err := s.Queues(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q *messages.Queue) bool { return q.Name == name }) {
			return messages.Errorf(messages.NotFound, "queue %s is not known here", name)
		}
	}
	return nil
}

// CreateMatchmaker makes a matchmaking configuration.
func (s *System) CreateMatchmaker(ctx context.Context, r messages.Matchmaker) (*messages.Matchmaker, error) {
	if err := cmp.Or(matchmaker.CheckMatchmaker(&r), s.checkQueueNames(ctx, r.Queues)); err != nil {
		return nil, err
	}
	return ask[*messages.Matchmaker](ctx, s.matchmaking, matchmaker.NewMatchmaker{Matchmaker: r})
}

// UpdateMatchmaker changes a matchmaking configuration. Its tickets use the change from their next step.
func (s *System) UpdateMatchmaker(ctx context.Context, u messages.UpdateMatchmaker) (*messages.Matchmaker, error) {
	if u.Queues != nil {
		if err := s.checkQueueNames(ctx, *u.Queues); err != nil {
			return nil, err
		}
	}
	return ask[*messages.Matchmaker](ctx, s.matchmaking, u)
}

// DeleteMatchmaker deletes a matchmaking configuration that has no tickets but ended ones.
func (s *System) DeleteMatchmaker(ctx context.Context, name messages.MatchmakerName) error {
	_, err := ask[stage.None](ctx, s.matchmaking, matchmaker.DropMatchmaker{Name: name})
	return err
}

// Matchmakers reads all matchmaking configurations, oldest first.
func (s *System) Matchmakers(ctx context.Context) ([]*messages.Matchmaker, error) {
	return ask[[]*messages.Matchmaker](ctx, s.matchmaking, matchmaker.Matchmakers{})
}

// MatchmakerStates reads what goes on in all matchmaking configurations, oldest first.
func (s *System) MatchmakerStates(ctx context.Context) ([]messages.MatchmakerState, error) {
	return ask[[]messages.MatchmakerState](ctx, s.matchmaking, matchmaker.MatchmakerStates{})
}

// MatchmakerTickets reads the tickets that have not ended, oldest first.
func (s *System) MatchmakerTickets(ctx context.Context, q messages.TicketList) (messages.ListedTickets, error) {
	return ask[messages.ListedTickets](ctx, s.matchmaking, q)
}

// WhyTicket says why a matchmaking ticket waits.
func (s *System) WhyTicket(ctx context.Context, id messages.TicketID) (*messages.TicketWait, error) {
	return ask[*messages.TicketWait](ctx, s.matchmaking, messages.WhyTicket{ID: id})
}

// StartMatchmaking starts a ticket, which is QUEUED. Without an id it gets one.
func (s *System) StartMatchmaking(ctx context.Context, q messages.StartMatchmaking) (*messages.Ticket, error) {
	q.Trace = tracing.From(ctx)
	if q.TicketID == "" {
		q.TicketID = messages.TicketID(uuid.NewString())
	}
	return ask[*messages.Ticket](ctx, s.matchmaking, q)
}

// StartMatchBackfill starts a backfill ticket, which is QUEUED. Without an id it gets one.
func (s *System) StartMatchBackfill(ctx context.Context, q messages.StartMatchBackfill) (*messages.Ticket, error) {
	if q.TicketID == "" {
		q.TicketID = messages.TicketID(uuid.NewString())
	}
	return ask[*messages.Ticket](ctx, s.matchmaking, q)
}

// Tickets reads tickets in the order of ids, without unknown ones.
func (s *System) Tickets(ctx context.Context, ids []messages.TicketID) ([]*messages.Ticket, error) {
	return ask[[]*messages.Ticket](ctx, s.matchmaking, matchmaker.GetTickets{IDs: ids})
}

// StopMatchmaking cancels a ticket that is not PLACING and has not ended.
func (s *System) StopMatchmaking(ctx context.Context, id messages.TicketID) error {
	_, err := ask[stage.None](ctx, s.matchmaking, matchmaker.StopTicket{ID: id})
	return err
}

// AcceptMatch accepts or rejects a match for players of a ticket.
func (s *System) AcceptMatch(ctx context.Context, q messages.AcceptMatch) error {
	_, err := ask[stage.None](ctx, s.matchmaking, q)
	return err
}

// warnOfQueues logs configurations whose queue does not exist: the API may have deleted it, and may create it again.
func warnOfQueues(o matchmaker.Options, all []*messages.Queue, log zerolog.Logger) {
	for _, r := range o.Matchmakers {
		for _, name := range r.Queues {
			if !slices.ContainsFunc(all, func(q *messages.Queue) bool { return q.Name == name }) {
				log.Warn().Str("configuration", string(r.Name)).Str("queue", string(name)).Msg("the queue of a matchmaking configuration does not exist: its matches fail")
			}
		}
	}
}

// placer implements matchmaker.Placer with the placements and game sessions of this host.
type placer struct{ placements, fleet *stage.Ref }

// Start implements matchmaker.Placer.
func (p placer) Start(r messages.StartPlacement, reply func(error)) {
	p.placements.Tell(stage.Request[messages.StartPlacement, *messages.Placement]{Request: r, Reply: func(_ *messages.Placement, err error) { reply(err) }})
}

// Await implements matchmaker.Placer.
func (p placer) Await(id messages.PlacementID, reply func(*messages.Placement, error)) {
	p.placements.Tell(stage.Request[placement.Await, *messages.Placement]{Request: placement.Await{ID: id}, Reply: reply})
}

// Active implements matchmaker.Placer.
func (p placer) Active(id messages.GameSessionID, reply func(bool, error)) {
	p.fleet.Tell(stage.Request[messages.GameSessionQuery, []*messages.GameSession]{
		Request: messages.GameSessionQuery{ID: id}, Reply: func(found []*messages.GameSession, err error) {
			if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
				err = nil
			}
			reply(err == nil && len(found) > 0 && found[0].Status == messages.GameSessionActive, err)
		},
	})
}

// Watch implements matchmaker.Placer.
func (p placer) Watch(id messages.GameSessionID, notify func(*messages.AskBackfill), reply func(func() messages.GameSeats, error)) {
	p.fleet.Tell(stage.Request[fleet.Watch, *gamesession.Published]{
		Request: fleet.Watch{Session: id, Notify: notify}, Reply: func(g *gamesession.Published, err error) {
			if err != nil {
				reply(nil, err)
				return
			}
			reply(g.Seats, nil)
		},
	})
}

// Fill implements matchmaker.Placer.
func (p placer) Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error)) {
	p.fleet.Tell(stage.Request[messages.FillGameSession, *messages.FilledGameSession]{Request: q, Reply: reply})
}

// matchmaking returns the options of matchmaking.
func (o *Options) matchmaking() matchmaker.Options {
	m := o.Matchmaking
	if m.Region == "" {
		m.Region = o.Fleet.Region
	}
	if m.Store == nil {
		m.Store = o.Fleet.Store
	}
	if m.OnEvent == nil {
		m.OnEvent = o.Fleet.OnEvent
	}
	m.Tracer = o.Fleet.Tracer
	return m
}

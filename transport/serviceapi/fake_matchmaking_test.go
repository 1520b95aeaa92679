package serviceapi

import (
	"context"
	"slices"

	"troupe/messages"
)

// fakeMatchmaking has the rule sets, configurations and tickets of a fakeBackend, whose mu guards them.
type fakeMatchmaking struct {
	ruleSets    []*messages.RuleSet
	matchmakers []*messages.Matchmaker
	tickets     []*messages.Ticket
	answers     []messages.AcceptMatch // requests as received
	crowded     bool                   // if set, new tickets are refused
}

func unknown(what string) error { return messages.Errorf(messages.NotFound, "no %s", what) }

func (b *fakeBackend) checkRuleSet(body string) error {
	if body == "bad" {
		return messages.Errorf(messages.InvalidRequest, "E_JSON: $: bad")
	}
	return nil
}

func (b *fakeBackend) createRuleSet(ctx context.Context, r messages.RuleSet) (*messages.RuleSet, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err == nil {
		err = b.checkRuleSet(r.Body)
	}
	if err != nil {
		return nil, err
	}
	r.Created = b.now
	b.ruleSets = append(b.ruleSets, &r)
	return &r, nil
}

func (b *fakeBackend) readRuleSets(ctx context.Context) ([]*messages.RuleSet, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return b.ruleSets, err
}

func (b *fakeBackend) deleteRuleSet(ctx context.Context, name messages.RuleSetName) error {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	n := len(b.ruleSets)
	b.ruleSets = slices.DeleteFunc(b.ruleSets, func(r *messages.RuleSet) bool { return r.Name == name })
	if err == nil && len(b.ruleSets) == n {
		err = unknown("rule set")
	}
	return err
}

func (b *fakeBackend) createMatchmaker(ctx context.Context, r messages.Matchmaker) (*messages.Matchmaker, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r.Created = b.now
	b.matchmakers = append(b.matchmakers, &r)
	return &r, nil
}

func (b *fakeBackend) updateMatchmaker(ctx context.Context, u messages.UpdateMatchmaker) (*messages.Matchmaker, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	for i, r := range b.matchmakers {
		if r.Name == u.Name && err == nil {
			b.matchmakers[i] = u.Apply(r)
			return b.matchmakers[i], nil
		}
	}
	if err == nil {
		err = unknown("matchmaking configuration")
	}
	return nil, err
}

func (b *fakeBackend) readMatchmakers(ctx context.Context) ([]*messages.Matchmaker, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return b.matchmakers, err
}

func (b *fakeBackend) deleteMatchmaker(ctx context.Context, name messages.MatchmakerName) error {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	n := len(b.matchmakers)
	b.matchmakers = slices.DeleteFunc(b.matchmakers, func(r *messages.Matchmaker) bool { return r.Name == name })
	if err == nil && len(b.matchmakers) == n {
		err = unknown("matchmaking configuration")
	}
	return err
}

func (b *fakeBackend) startMatchmaking(ctx context.Context, q messages.StartMatchmaking) (*messages.Ticket, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case b.crowded:
		return nil, messages.Errorf(messages.LimitExceeded, "too many tickets")
	case !slices.ContainsFunc(b.matchmakers, func(r *messages.Matchmaker) bool { return r.Name == q.Matchmaker }):
		return nil, unknown("matchmaking configuration")
	}
	t := &messages.Ticket{ID: q.TicketID, Matchmaker: q.Matchmaker, Status: messages.TicketQueued, Started: b.now, Players: q.Players}
	b.tickets = append(b.tickets, t)
	return t, nil
}

func (b *fakeBackend) startMatchBackfill(ctx context.Context, q messages.StartMatchBackfill) (*messages.Ticket, error) {
	t, err := b.startMatchmaking(ctx, messages.StartMatchmaking{TicketID: q.TicketID, Matchmaker: q.Matchmaker, Players: q.Players})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		t.Backfill, t.Game = &messages.Backfill{Session: q.Session}, &messages.MatchedSession{ID: q.Session}
	}
	return t, err
}

func (b *fakeBackend) readTickets(ctx context.Context, ids []messages.TicketID) (found []*messages.Ticket, err error) {
	err = b.enter(ctx, false)
	defer b.mu.Unlock()
	for _, t := range b.tickets {
		if slices.Contains(ids, t.ID) {
			found = append(found, t)
		}
	}
	return found, err
}

func (b *fakeBackend) stopMatchmaking(ctx context.Context, id messages.TicketID) error {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err == nil && !slices.ContainsFunc(b.tickets, func(t *messages.Ticket) bool { return t.ID == id }) {
		err = unknown("ticket")
	}
	return err
}

func (b *fakeBackend) acceptMatch(ctx context.Context, q messages.AcceptMatch) error {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	b.answers = append(b.answers, q)
	return err
}

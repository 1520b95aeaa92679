package actors

import (
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/stage"
	"troupe/messages"
)

// CheckRuleSet refuses the body of a rule set that is not valid. The error is InvalidRequest, with the place in the body.
func CheckRuleSet(body string) error {
	_, err := matchmaker.Compile(messages.RuleSet{Body: body})
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
	stage.Send(p.placements, r, func(_ *messages.Placement, err error) { reply(err) })
}

// Await implements matchmaker.Placer.
func (p placer) Await(id messages.PlacementID, reply func(*messages.Placement, error)) {
	stage.Send(p.placements, placement.Await{ID: id}, reply)
}

// Active implements matchmaker.Placer.
func (p placer) Active(id messages.GameSessionID, reply func(bool, error)) {
	stage.Send(p.fleet, messages.GameSessionQuery{ID: id}, func(g *messages.GameSession, err error) {
		if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			err = nil
		}
		reply(g != nil && g.Status == messages.GameSessionActive, err)
	})
}

// Watch implements matchmaker.Placer.
func (p placer) Watch(id messages.GameSessionID, notify func(*messages.AskBackfill), reply func(func() messages.GameSeats, error)) {
	stage.Send(p.fleet, fleet.Watch{Session: id, Notify: notify}, func(g *gamesession.Published, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		reply(g.Seats, nil)
	})
}

// Fill implements matchmaker.Placer.
func (p placer) Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error)) {
	stage.Send(p.fleet, q, reply)
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
	return m
}

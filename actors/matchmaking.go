package actors

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/stage"
	"troupe/messages"
)

// warnOfQueues logs matchmaking configurations whose queue does not exist. This is only a warning, because the API may
// have deleted the queue and may create it again.
func warnOfQueues(o matchmaker.Options, all []*messages.Queue, log zerolog.Logger) {
	for _, r := range o.Matchmakers {
		for _, name := range r.Queues {
			if !slices.ContainsFunc(all, func(q *messages.Queue) bool { return q.Name == name }) {
				log.Warn().Str("configuration", string(r.Name)).Str("queue", string(name)).Msg("the queue of a matchmaking configuration does not exist: its matches fail")
			}
		}
	}
}

// placer implements matchmaker.Placer. It uses the placements of this host and the hosts that own game sessions.
type placer struct {
	placements *stage.Ref
	hosts      messages.Sender
}

// Place implements matchmaker.Placer.
func (p placer) Place(r messages.StartPlacement, reply func(matchmaker.PlacedMatch, error)) {
	messages.Send(p.placements, placement.Place{Placement: r}, func(placed *messages.Placement, err error) {
		if err != nil || placed.Status != messages.PlacementFulfilled {
			reply(matchmaker.PlacedMatch{Placement: *cmp.Or(placed, new(messages.Placement))}, err)
			return
		}
		messages.Send(p.hosts, messages.GameSessionQuery{ID: placed.GameSessionID}, func(g *messages.GameSession, err error) {
			if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
				err = nil
			}
			reply(matchmaker.PlacedMatch{Placement: *placed, Active: g != nil && g.Status == messages.GameSessionActive}, err)
		})
	})
}

// Seats implements matchmaker.Placer.
func (p placer) Seats(q messages.AwaitSeats, reply func(messages.SeatsReport, error)) {
	messages.Send(p.hosts, q, reply)
}

// Fill implements matchmaker.Placer.
func (p placer) Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error)) {
	messages.Send(p.hosts, q, reply)
}

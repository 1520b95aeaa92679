package actors

import (
	"context"
	"iter"

	"troupe/actors/fleet"
	"troupe/messages"
)

// ActiveGameSessions returns the ACTIVE game sessions of a fleet, oldest first. Each comes with
// the number of its RESERVED and ACTIVE player sessions, which its record does not contain.
// Nothing is copied: each iteration reads the current state.
func (s *System) ActiveGameSessions(ctx context.Context, q messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error) {
	list, err := messages.Do(ctx, s, fleet.LiveGameSessions{Query: q})
	if err != nil {
		return nil, err
	}
	return func(yield func(*messages.GameSession, int) bool) {
		for _, p := range list {
			g, players, active := p.Shared()
			if active && (q.Location == "" || g.Location == q.Location) && !yield(g, players) {
				return
			}
		}
	}, nil
}

package actors

import (
	"context"
	"iter"

	"troupe/messages"
)

// ActiveGameSessions returns the ACTIVE game sessions of a fleet, oldest first, each with the
// number of its player sessions that are RESERVED or ACTIVE, which its record does not have.
// Nothing is copied: each iteration shows the state at its time.
func (s *System) ActiveGameSessions(ctx context.Context, q messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error) {
	list, err := s.LiveGameSessions(ctx, q)
	if err != nil {
		return nil, err
	}
	return func(yield func(*messages.GameSession, int) bool) {
		for _, p := range list {
			if g, players, active := p.Shared(); active && !yield(g, players) {
				return
			}
		}
	}, nil
}

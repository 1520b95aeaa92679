package serviceapi

import (
	"context"
	"iter"

	"troupe/messages"
)

// ActiveGameSessions returns records without their number of players, as the host does.
func (b *fakeBackend) ActiveGameSessions(ctx context.Context, q messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error) {
	found, err := b.GameSessions(ctx, messages.GameSessionQuery{FleetID: q.FleetID, AliasID: q.AliasID, Location: q.Location, Status: messages.GameSessionActive})
	if err != nil {
		return nil, err
	}
	return func(yield func(*messages.GameSession, int) bool) {
		for _, g := range found {
			shared := *g
			shared.CurrentPlayers = -1
			if !yield(&shared, g.CurrentPlayers) {
				return
			}
		}
	}, nil
}

package serviceapi

import (
	"context"
	"iter"

	"troupe/messages"
)

// ActiveGameSessions shows records without their number of players, as the host does.
func (b *fakeBackend) ActiveGameSessions(ctx context.Context, fleet messages.FleetID, alias messages.AliasID, location string) (iter.Seq2[*messages.GameSession, int], error) {
	found, err := b.GameSessions(ctx, messages.GameSessionQuery{FleetID: fleet, AliasID: alias, Location: location, Status: messages.GameSessionActive})
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

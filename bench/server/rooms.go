package server

import (
	"context"
	"fmt"
)

// OpenRoom makes room number ready for players and returns the ids to log in with, in order. With the host a room is a
// game session that is ACTIVE, and the ids are reservations that live for a minute: log in soon.
func (p *Process) OpenRoom(ctx context.Context, number, players int) ([]string, error) {
	if p.Spec.Kind == Bare {
		ids := make([]string, players)
		for i := range ids {
			ids[i] = fmt.Sprintf("room-%d-%d", number, i)
		}
		return ids, nil
	}
	fleet := p.Spec.FleetID
	if fleet == "" {
		fleet = "fleet-dev"
	}
	api := api{url: "http://" + p.Announce.API + "/", client: p.client}
	session, err := api.createGameSession(ctx, fleet, fmt.Sprintf("room-%d", number), players)
	if err != nil {
		return nil, fmt.Errorf("open room %d: %w", number, err)
	}
	if err := api.awaitActive(ctx, session); err != nil {
		return nil, fmt.Errorf("open room %d: %w", number, err)
	}
	ids, err := api.createPlayerSessions(ctx, session, number, players)
	if err != nil {
		return nil, fmt.Errorf("open room %d: %w", number, err)
	}
	return ids, nil
}

package actors

import (
	"context"

	"troupe/messages"
)

// InspectGameSession reads what goes on in a game session, for operators. The state of one
// that has ended is empty, but for the time lines of the last 200 that ended since the start of the host.
func (s *System) InspectGameSession(ctx context.Context, id messages.GameSessionID) (*messages.GameSessionState, error) {
	return ask[*messages.GameSessionState](ctx, s.fleet, messages.InspectGameSession{ID: id})
}

// KickPlayer removes a player from a running game session, for operators.
func (s *System) KickPlayer(ctx context.Context, q messages.KickPlayer) (int, error) {
	return ask[int](ctx, s.fleet, q)
}

// Placements lists placements, the newest first, with the reasons why they wait.
func (s *System) Placements(ctx context.Context, q messages.PlacementList) ([]messages.PlacementState, error) {
	return ask[[]messages.PlacementState](ctx, s.placements, q)
}

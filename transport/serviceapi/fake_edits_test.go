package serviceapi

import (
	"context"
	"slices"

	"troupe/messages"
)

// UpdateGameSession checks no rules: the registry does.
func (b *fakeBackend) UpdateGameSession(ctx context.Context, req messages.UpdateGameSession) (*messages.GameSession, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(b.games, func(g *messages.GameSession) bool { return g.ID == req.ID })
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no game session %q", req.ID)
	}
	g := *b.games[i]
	if req.Name != nil {
		g.Name = *req.Name
	}
	if req.MaxPlayers != nil {
		g.MaxPlayers = *req.MaxPlayers
	}
	if req.AcceptsPlayers != nil {
		g.AcceptsPlayers = *req.AcceptsPlayers
	}
	if req.Protected != nil {
		g.Protected = *req.Protected
	}
	g.Properties = append(slices.Clone(g.Properties), req.Properties...)
	b.games[i] = &g
	return &g, nil
}

package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// OpenRoom makes room number ready for players and returns the ids to log in with, in order. With the host a room is a
// game session that is ACTIVE, and the ids are reservations that live for a minute: log in soon.
func (p *Process) OpenRoom(ctx context.Context, number, players int) ([]string, error) {
	return p.openRoom(ctx, p.Spec.FleetID, number, players)
}

func (p *Process) openRoom(ctx context.Context, fleet string, number, players int) ([]string, error) {
	if p.Spec.Kind == Bare {
		ids := make([]string, players)
		for i := range ids {
			ids[i] = fmt.Sprintf("room-%d-%d", number, i)
		}
		return ids, nil
	}
	if fleet == "" {
		fleet = "fleet-dev"
	}
	api := p.api()
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

func (p *Process) api() api { return api{url: "http://" + p.Announce.API + "/", client: p.client} }

// CreateGameSession makes a game session of a fleet, troupe only, and does not wait for it.
func (p *Process) CreateGameSession(ctx context.Context, fleet string, players int) (id string, err error) {
	return p.api().createGameSession(ctx, fleet, "bench", players)
}

// AwaitFleet waits until a fleet takes game sessions, ten seconds at most.
func (p *Process) AwaitFleet(ctx context.Context, fleet string) error {
	return p.api().awaitFleet(ctx, fleet)
}

// AwaitActive waits until a game session is ACTIVE, ten seconds at most.
func (p *Process) AwaitActive(ctx context.Context, id string) error {
	return p.api().awaitActive(ctx, id)
}

// Status is that of a game session, empty for one that is not known.
func (p *Process) Status(ctx context.Context, id string) (string, error) {
	return p.api().status(ctx, id)
}

// GameSessionLog is the log of a game session as far as it is written, at most 16 MiB of it; empty if there is none.
func (p *Process) GameSessionLog(ctx context.Context, id string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Announce.API+"/debug/gamesession-log?id="+url.QueryEscape(id), nil)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return "", nil // it has not said anything yet
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

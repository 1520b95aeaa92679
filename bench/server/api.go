package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	activeTimeout     = 10 * time.Second
	playerSessionsMax = 25 // per call of CreatePlayerSessions
	describeEvery     = 10 * time.Millisecond
	errorBytesMax     = 1 << 10
)

// api speaks the few operations of the service API that a benchmark needs, AWS JSON 1.1 without signature.
type api struct {
	url    string
	client *http.Client
}

// call does one operation.
func (a api) call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "GameLift."+operation)
	res, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, errorBytesMax))
		return fmt.Errorf("%s: %s: %s", operation, res.Status, text)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, answerBytesMax)).Decode(out); err != nil {
		return fmt.Errorf("%s: decode answer: %w", operation, err)
	}
	return nil
}

func (a api) createGameSession(ctx context.Context, fleet, name string, players int) (string, error) {
	in := struct {
		FleetId, Name             string
		MaximumPlayerSessionCount int
	}{fleet, name, players}
	var out struct {
		GameSession struct{ GameSessionId string }
	}
	if err := a.call(ctx, "CreateGameSession", in, &out); err != nil {
		return "", err
	}
	if out.GameSession.GameSessionId == "" {
		return "", errors.New("CreateGameSession: no game session in the answer")
	}
	return out.GameSession.GameSessionId, nil
}

// status is that of a game session, empty for one that is not known.
func (a api) status(ctx context.Context, session string) (string, error) {
	in := struct{ GameSessionId string }{session}
	var out struct {
		GameSessions []struct{ Status string }
	}
	if err := a.call(ctx, "DescribeGameSessions", in, &out); err != nil || len(out.GameSessions) != 1 {
		return "", err
	}
	return out.GameSessions[0].Status, nil
}

// awaitFleet polls until a fleet takes game sessions: a script has to be loaded first.
func (a api) awaitFleet(ctx context.Context, fleet string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, activeTimeout, errors.New("fleet not ACTIVE in time"))
	defer cancel()
	tick := time.NewTicker(describeEvery)
	defer tick.Stop()
	in := struct{ FleetIds []string }{[]string{fleet}}
	for {
		var out struct {
			FleetAttributes []struct{ Status string }
		}
		switch err := a.call(ctx, "DescribeFleetAttributes", in, &out); {
		case err != nil:
			return err
		case len(out.FleetAttributes) != 1:
			return fmt.Errorf("there is no fleet %s", fleet)
		case out.FleetAttributes[0].Status == "ACTIVE":
			return nil
		case out.FleetAttributes[0].Status == "ERROR":
			return fmt.Errorf("fleet %s is in ERROR; the host's log says why", fleet)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// awaitActive polls until the game session takes players.
func (a api) awaitActive(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, activeTimeout, errors.New("game session not ACTIVE in time"))
	defer cancel()
	tick := time.NewTicker(describeEvery)
	defer tick.Stop()
	for {
		status, err := a.status(ctx, session)
		if err != nil {
			return err
		}
		switch status {
		case "ACTIVE":
			return nil
		case "TERMINATING", "TERMINATED", "ERROR":
			return fmt.Errorf("game session is %s", status)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// createPlayerSessions reserves players p<room>-<i> and returns their player session ids in order.
func (a api) createPlayerSessions(ctx context.Context, session string, room, players int) ([]string, error) {
	ids := make([]string, 0, players)
	for len(ids) < players {
		var names []string
		for i := len(ids); i < min(len(ids)+playerSessionsMax, players); i++ {
			names = append(names, fmt.Sprintf("p%d-%d", room, i))
		}
		got, err := a.reserve(ctx, session, names)
		if err != nil {
			return nil, err
		}
		ids = append(ids, got...)
	}
	return ids, nil
}

// reserve does one call; the answer may come in any order.
func (a api) reserve(ctx context.Context, session string, names []string) ([]string, error) {
	in := struct {
		GameSessionId string
		PlayerIds     []string
	}{session, names}
	var out struct {
		PlayerSessions []struct{ PlayerId, PlayerSessionId string }
	}
	if err := a.call(ctx, "CreatePlayerSessions", in, &out); err != nil {
		return nil, err
	}
	byName := make(map[string]string, len(names))
	for _, s := range out.PlayerSessions {
		byName[s.PlayerId] = s.PlayerSessionId
	}
	ids := make([]string, len(names))
	for i, name := range names {
		if ids[i] = byName[name]; ids[i] == "" {
			return nil, fmt.Errorf("CreatePlayerSessions: no player session for %s in the answer", name)
		}
	}
	return ids, nil
}

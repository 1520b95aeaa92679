package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	activeTimeout     = 10 * time.Second
	playerSessionsMax = 25 // per call of CreatePlayerSessions
	describeEvery     = 10 * time.Millisecond
	errorBytesMax     = 1 << 10
)

// api speaks the few operations of the service API that a benchmark needs, AWS JSON 1.1.
type api struct {
	url    string
	client *http.Client
	sign   Signer // nil: calls are not signed
}

// Signer signs a request with this body. It may be called from any goroutine.
type Signer func(req *http.Request, body []byte) error

// get asks for a page of the host's address. An answer that is not 200 is an error with its text.
func (a api) get(ctx context.Context, page string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(a.url, "/")+page, nil)
	if err != nil {
		return nil, err
	}
	if a.sign != nil {
		if err := a.sign(req, nil); err != nil {
			return nil, fmt.Errorf("sign: %w", err)
		}
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, errorBytesMax))
		return nil, &AnswerError{Status: res.StatusCode, Text: strings.TrimSpace(string(text))}
	}
	return res, nil
}

// read returns a page of the host's address, at most 16 MiB of it.
func (a api) read(ctx context.Context, page string) ([]byte, error) {
	res, err := a.get(ctx, page)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
}

// AnswerError is an answer that is not 200.
type AnswerError struct {
	Operation string
	Status    int
	Text      string
}

func (e *AnswerError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d: %s", e.Operation, e.Status, e.Text))
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
	if a.sign != nil {
		if err := a.sign(req, body); err != nil {
			return fmt.Errorf("%s: sign: %w", operation, err)
		}
	}
	res, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, errorBytesMax))
		return &AnswerError{Operation: operation, Status: res.StatusCode, Text: strings.TrimSpace(string(text))}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, answerBytesMax)).Decode(out); err != nil {
		return fmt.Errorf("%s: decode answer: %w", operation, err)
	}
	return nil
}

// createGameSession returns its id, and where its players are to connect.
func (a api) createGameSession(ctx context.Context, fleet, name string, players int) (id, addr string, err error) {
	in := struct {
		FleetId, Name             string
		MaximumPlayerSessionCount int
	}{fleet, name, players}
	var out struct {
		GameSession struct {
			GameSessionId, IpAddress string
			Port                     int
		}
	}
	if err := a.call(ctx, "CreateGameSession", in, &out); err != nil {
		return "", "", err
	}
	g := out.GameSession
	if g.GameSessionId == "" {
		return "", "", errors.New("CreateGameSession: no game session in the answer")
	}
	return g.GameSessionId, net.JoinHostPort(g.IpAddress, strconv.Itoa(g.Port)), nil
}

// terminate ends a game session now.
func (a api) terminate(ctx context.Context, session string) error {
	in := struct{ GameSessionId, TerminationMode string }{session, "FORCE_TERMINATE"}
	return a.call(ctx, "TerminateGameSession", in, new(struct{}))
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

// poll asks until done, ten seconds at most.
func poll(ctx context.Context, late string, ask func(ctx context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, activeTimeout, errors.New(late))
	defer cancel()
	tick := time.NewTicker(describeEvery)
	defer tick.Stop()
	for {
		if done, err := ask(ctx); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// awaitFleet polls until a fleet takes game sessions: a script has to be loaded first.
func (a api) awaitFleet(ctx context.Context, fleet string) error {
	in := struct{ FleetIds []string }{[]string{fleet}}
	return poll(ctx, "fleet not ACTIVE in time", func(ctx context.Context) (bool, error) {
		var out struct{ FleetAttributes []struct{ Status string } }
		switch err := a.call(ctx, "DescribeFleetAttributes", in, &out); {
		case err != nil:
			return false, err
		case len(out.FleetAttributes) != 1:
			return false, fmt.Errorf("there is no fleet %s", fleet)
		case out.FleetAttributes[0].Status == "ERROR":
			return false, fmt.Errorf("fleet %s is in ERROR: %s", fleet, a.whyError(ctx, fleet))
		}
		return out.FleetAttributes[0].Status == "ACTIVE", nil
	})
}

// whyError returns what the newest event of a fleet that tells of a failure says.
func (a api) whyError(ctx context.Context, fleet string) string {
	in := struct{ FleetId string }{fleet}
	var out struct {
		Events []struct{ EventCode, Message string }
	}
	said := ""
	if a.call(ctx, "DescribeFleetEvents", in, &out) == nil { // otherwise the key may not ask
		for _, e := range out.Events {
			if strings.HasPrefix(e.EventCode, "FLEET_VALIDATION_") || e.EventCode == "SERVER_PROCESS_CRASHED" {
				said = cut(e.EventCode+" "+oneLine(e.Message), firstMax)
			}
		}
	}
	return cmp.Or(said, "the host's log says why")
}

// oneLine puts an error and its stack into one line.
func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// awaitActive polls until the game session takes players.
func (a api) awaitActive(ctx context.Context, session string) error {
	return poll(ctx, "game session not ACTIVE in time", func(ctx context.Context) (bool, error) {
		status, err := a.status(ctx, session)
		if err == nil && (status == "TERMINATING" || status == "TERMINATED" || status == "ERROR") {
			err = fmt.Errorf("game session is %s", status)
		}
		return status == "ACTIVE", err
	})
}

// createPlayerSessions reserves players name-<i> and returns their player session ids in order.
func (a api) createPlayerSessions(ctx context.Context, session, name string, players int) ([]string, error) {
	ids := make([]string, 0, players)
	for len(ids) < players {
		var names []string
		for i := len(ids); i < min(len(ids)+playerSessionsMax, players); i++ {
			names = append(names, fmt.Sprintf("%s-%d", name, i))
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

// API is the service API of a running host, for callers of many operations at once. Its methods may be called from any goroutine.
type API struct{ api }

// API returns one that keeps up to conns connections.
func (p *Process) API(conns int) *API {
	a := p.api()
	a.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}}
	return &API{a}
}

// Call does one operation, AWS JSON 1.1 without signature.
func (a *API) Call(ctx context.Context, operation string, in, out any) error {
	return a.call(ctx, operation, in, out)
}

// Close closes its idle connections.
func (a *API) Close() { a.client.CloseIdleConnections() }

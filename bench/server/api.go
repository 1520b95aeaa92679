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
	playerSessionsMax = 25 // maximum per call of CreatePlayerSessions
	describeEvery     = 10 * time.Millisecond
	errorBytesMax     = 1 << 10
)

// api is a client for the few service API operations that a benchmark needs (AWS JSON 1.1).
type api struct {
	url    string
	client *http.Client
	sign   Signer // nil: calls are not signed
}

// Signer signs a request that has this body. It may be called from any goroutine.
type Signer func(req *http.Request, body []byte) error

// get requests a page of the host. A status other than 200 is an AnswerError.
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

// read returns the first 16 MiB of a page of the host.
func (a api) read(ctx context.Context, page string) ([]byte, error) {
	res, err := a.get(ctx, page)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
}

// AnswerError is a response with a status other than 200.
type AnswerError struct {
	Operation string
	Status    int
	Text      string
}

func (e *AnswerError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d: %s", e.Operation, e.Status, e.Text))
}

// call performs one operation.
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

// createGameSession creates a game session. It returns the id and the address for the players.
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

// terminate ends a game session immediately.
func (a api) terminate(ctx context.Context, session string) error {
	in := struct{ GameSessionId, TerminationMode string }{session, "FORCE_TERMINATE"}
	return a.call(ctx, "TerminateGameSession", in, new(struct{}))
}

// status returns the status of a game session, or "" if the host does not know the session.
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

// poll calls ask until it is done, for at most activeTimeout. late is the error text of a timeout.
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

// awaitFleet polls until a fleet is ACTIVE. A fleet must load its script first.
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

// whyError returns the message of a fleet's newest event that reports a failure.
func (a api) whyError(ctx context.Context, fleet string) string {
	in := struct{ FleetId string }{fleet}
	var out struct {
		Events []struct{ EventCode, Message string }
	}
	said := ""
	if a.call(ctx, "DescribeFleetEvents", in, &out) == nil { // otherwise the key has no permission for this call
		for _, e := range out.Events {
			if strings.HasPrefix(e.EventCode, "FLEET_VALIDATION_") || e.EventCode == "SERVER_PROCESS_CRASHED" {
				said = cut(e.EventCode+" "+oneLine(e.Message), firstMax)
			}
		}
	}
	return cmp.Or(said, "the host's log says why")
}

// oneLine joins an error and its stack into one line.
func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// awaitActive polls until the game session is ACTIVE.
func (a api) awaitActive(ctx context.Context, session string) error {
	return poll(ctx, "game session not ACTIVE in time", func(ctx context.Context) (bool, error) {
		status, err := a.status(ctx, session)
		if err == nil && (status == "TERMINATING" || status == "TERMINATED" || status == "ERROR") {
			err = fmt.Errorf("game session is %s", status)
		}
		return status == "ACTIVE", err
	})
}

// createPlayerSessions reserves players named name-<i> and returns their player session ids in that order.
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

// reserve makes one call of CreatePlayerSessions. It returns the ids in the order of names, although the answer may
// have any order.
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

// API is a client for the service API of a running host. It supports many concurrent calls. Its methods may be called
// from any goroutine.
type API struct{ api }

// API returns a client that uses up to conns connections.
func (p *Process) API(conns int) *API {
	a := p.api()
	a.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}}
	return &API{a}
}

// Call performs one operation.
func (a *API) Call(ctx context.Context, operation string, in, out any) error {
	return a.call(ctx, operation, in, out)
}

// Probe requests a page. A status other than 200 is an AnswerError.
func (a *API) Probe(ctx context.Context, page string) error {
	_, err := a.read(ctx, page)
	return err
}

// Close closes the idle connections.
func (a *API) Close() { a.client.CloseIdleConnections() }

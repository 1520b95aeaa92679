package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Room is a room that is ready for players.
type Room struct {
	Number  int
	Session string   // id of the game session; empty for the bare relay
	Addr    string   // host:port that the players connect to
	IDs     []string // player session ids, in the order of the players
}

// Open prepares a room for players. On a host, the room is an ACTIVE game session of the spec's fleet. The ids are
// reservations, which expire after a minute.
func (p *Process) Open(ctx context.Context, number, players int) (Room, error) {
	return p.OpenIn(ctx, cmp.Or(p.Spec.FleetID, "fleet-dev"), number, players)
}

// OpenIn prepares a room as Open does, but in the given fleet.
func (p *Process) OpenIn(ctx context.Context, fleet string, number, players int) (Room, error) {
	r := Room{Number: number, Addr: p.Announce.WS}
	if p.Spec.Kind == Bare {
		for i := range players {
			r.IDs = append(r.IDs, fmt.Sprintf("room-%d-%d", number, i))
		}
		return r, nil
	}
	api := p.api()
	session, addr, err := api.createGameSession(ctx, fleet, fmt.Sprintf("room-%d", number), players)
	if err != nil {
		return r, fmt.Errorf("open room %d: %w", number, err)
	}
	p.note(session)
	if r.Session = session; p.remote != nil {
		r.Addr = addr
	}
	if err := api.awaitActive(ctx, session); err != nil {
		return r, fmt.Errorf("open room %d: %w", number, err)
	}
	if r.IDs, err = api.createPlayerSessions(ctx, session, fmt.Sprintf("p%d", number), players); err != nil {
		return r, fmt.Errorf("open room %d: %w", number, err)
	}
	return r, nil
}

func (p *Process) api() api {
	if p.remote != nil {
		return *p.remote
	}
	return api{url: "http://" + p.Announce.API + "/", client: p.client}
}

// CreateGameSession creates a game session of a fleet and does not wait until it is ACTIVE. Troupe only.
func (p *Process) CreateGameSession(ctx context.Context, fleet string, players int) (id string, err error) {
	id, _, err = p.api().createGameSession(ctx, fleet, "bench", players)
	p.note(id)
	return id, err
}

// AwaitFleet waits until a fleet is ACTIVE, for at most ten seconds.
func (p *Process) AwaitFleet(ctx context.Context, fleet string) error {
	return p.api().awaitFleet(ctx, fleet)
}

// AwaitActive waits until a game session is ACTIVE, for at most ten seconds.
func (p *Process) AwaitActive(ctx context.Context, id string) error {
	return p.api().awaitActive(ctx, id)
}

// Status returns the status of a game session, or "" if the host does not know the session.
func (p *Process) Status(ctx context.Context, id string) (string, error) {
	return p.api().status(ctx, id)
}

// Metric returns the sum of a metric over all its labels, or 0 if the host lacks the metric. Troupe only.
func (p *Process) Metric(ctx context.Context, name string) (sum int64, err error) {
	text, err := p.api().read(ctx, "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	return sumOf(string(text), name)
}

// sumOf adds up the values of a metric.
func sumOf(text, name string) (sum int64, err error) {
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name)
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("read metrics: %w", err)
		}
		sum += int64(v)
	}
	return sum, nil
}

// EndGameSession asks a game session to end. It does not wait for the script's onProcessTerminate, which may take long.
func (p *Process) EndGameSession(ctx context.Context, id string) error {
	in := struct{ GameSessionId, TerminationMode string }{id, "TRIGGER_ON_PROCESS_TERMINATE"}
	if err := p.api().call(ctx, "TerminateGameSession", in, new(struct{})); err != nil && !ended(err) {
		return fmt.Errorf("end game session: %w", err)
	}
	return nil
}

// GameSessionLog returns the current log of a game session, or "" if there is none. It reads at most 16 MiB.
func (p *Process) GameSessionLog(ctx context.Context, id string) (string, error) {
	return p.log(ctx, "id="+url.QueryEscape(id))
}

// WholeGameSessionLog waits until the game session has ended and returns its complete log, at most 16 MiB of it.
func (p *Process) WholeGameSessionLog(ctx context.Context, id string) (string, error) {
	return p.log(ctx, "follow=1&id="+url.QueryEscape(id))
}

func (p *Process) log(ctx context.Context, query string) (string, error) {
	text, err := p.api().read(ctx, "/debug/gamesession-log?"+query)
	if answer := new(AnswerError); errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return "", nil // the session has not logged anything yet
	}
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

// Port returns the port at which players reach a game session.
func (p *Process) Port(ctx context.Context, session string) (int, error) {
	in := struct{ GameSessionId string }{session}
	var out struct {
		GameSessions []struct{ Port int }
	}
	err := p.api().call(ctx, "DescribeGameSessions", in, &out)
	if err == nil && len(out.GameSessions) != 1 {
		err = fmt.Errorf("the host does not know the game session %s", session)
	}
	if err != nil {
		return 0, err
	}
	return out.GameSessions[0].Port, nil
}

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
	Addr    string   // host:port to connect to
	IDs     []string // to log in with, in order
}

// Open makes room number ready for players. With the host a room is a game session of the spec's fleet that is ACTIVE, and the ids
// are reservations that live for a minute: log in soon.
func (p *Process) Open(ctx context.Context, number, players int) (Room, error) {
	return p.OpenIn(ctx, cmp.Or(p.Spec.FleetID, "fleet-dev"), number, players)
}

// OpenIn does what Open does, in another fleet.
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

// CreateGameSession makes a game session of a fleet, troupe only, and does not wait for it.
func (p *Process) CreateGameSession(ctx context.Context, fleet string, players int) (id string, err error) {
	id, _, err = p.api().createGameSession(ctx, fleet, "bench", players)
	p.note(id)
	return id, err
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

// Metric returns the sum of a metric over its labels, 0 if the host does not have it; troupe only.
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

// EndGameSession asks a game session to end. It does not wait for the script, whose onProcessTerminate may take its time.
func (p *Process) EndGameSession(ctx context.Context, id string) error {
	in := struct{ GameSessionId, TerminationMode string }{id, "TRIGGER_ON_PROCESS_TERMINATE"}
	if err := p.api().call(ctx, "TerminateGameSession", in, new(struct{})); err != nil && !ended(err) {
		return fmt.Errorf("end game session: %w", err)
	}
	return nil
}

// GameSessionLog is the log of a game session as far as it is written, at most 16 MiB of it; empty if there is none.
func (p *Process) GameSessionLog(ctx context.Context, id string) (string, error) {
	return p.log(ctx, "id="+url.QueryEscape(id))
}

// WholeGameSessionLog waits until the game session has ended, and returns what GameSessionLog does.
func (p *Process) WholeGameSessionLog(ctx context.Context, id string) (string, error) {
	return p.log(ctx, "follow=1&id="+url.QueryEscape(id))
}

func (p *Process) log(ctx context.Context, query string) (string, error) {
	text, err := p.api().read(ctx, "/debug/gamesession-log?"+query)
	if answer := new(AnswerError); errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return "", nil // it has not said anything yet
	}
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/bench/server"
)

// ticket is a matchmaking ticket with its own players.
type ticket struct {
	id, config string
	players    []string
}

func (t *ticket) start(ctx context.Context, api *server.API) error {
	in := struct {
		ConfigurationName, TicketId string
		Players                     []calledPlayer
	}{ConfigurationName: t.config, TicketId: t.id}
	for _, p := range t.players {
		in.Players = append(in.Players, calledPlayer{p})
	}
	return api.Call(ctx, "StartMatchmaking", in, new(struct{}))
}

func (t *ticket) accept(ctx context.Context, api *server.API) error {
	return api.Call(ctx, "AcceptMatch", struct {
		TicketId, AcceptanceType string
		PlayerIds                []string
	}{t.id, "ACCEPT", t.players}, new(struct{}))
}

// described is a ticket as DescribeMatchmaking returns it.
type described struct {
	Status                    string
	GameSessionConnectionInfo struct {
		GameSessionArn        string
		MatchedPlayerSessions []struct{ PlayerId, PlayerSessionId string }
	}
}

func describe(ctx context.Context, api *server.API, id string) (d described, err error) {
	var out struct{ TicketList []described }
	if err := api.Call(ctx, "DescribeMatchmaking", struct{ TicketIds []string }{[]string{id}}, &out); err != nil {
		return d, err
	}
	if len(out.TicketList) != 1 {
		return d, errors.New("it is not there")
	}
	return out.TicketList[0], nil
}

// stray records a ticket whose match must be accepted although no check waits for the ticket.
func (k *killing) stray(t *ticket) {
	if t.config == "accepted" {
		k.strays = append(k.strays, t)
	}
}

// ticket starts matchmaking for one player per prefix in names; the ticket's id completes each player's name. The
// ticket must be COMPLETED exactly once.
func (a *answers) ticket(ctx context.Context, id, config string, names ...string) (*ticket, error) {
	t := &ticket{id: id, config: config}
	for _, name := range names {
		t.players = append(t.players, name+id)
	}
	if err := t.start(ctx, a.api); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.k.stray(t) // the host may have started it despite the error
		return t, err
	}
	a.keep("tickets", id, t.find)
	return t, nil
}

// accepted starts two tickets and accepts their matches, which may include other tickets.
func (a *answers) accepted(ctx context.Context, n int64) error {
	var waiting []*ticket
	for _, name := range []string{"a", "b"} {
		t, err := a.ticket(ctx, fmt.Sprintf("ticket-%d-%s", n, name), "accepted", "of-")
		if err != nil {
			return err
		}
		waiting = append(waiting, t)
	}
	for len(waiting) > 0 {
		var next []*ticket
		for _, t := range waiting {
			d, err := describe(ctx, a.api, t.id)
			if err != nil {
				return err
			}
			if d.Status == "REQUIRES_ACCEPTANCE" {
				_ = t.accept(ctx, a.api)
			}
			if d.Status != "COMPLETED" {
				next = append(next, t)
			}
		}
		if waiting = next; rest(ctx, 5*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// backfilled starts a match of two players, and then a ticket of one player. Backfill must find a seat for that player,
// in the first game session or in another one.
func (a *answers) backfilled(ctx context.Context, n int64, config string) error {
	first, err := a.ticket(ctx, fmt.Sprintf("ticket-%d", n), config, "of-", "with-")
	if err != nil {
		return err
	}
	var d described
	for d.Status != "COMPLETED" {
		if d, err = describe(ctx, a.api, first.id); err != nil {
			return err
		}
		if rest(ctx, 5*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
	if config == "asked" {
		type seated struct{ PlayerId, Team string }
		id := fmt.Sprintf("backfill-%d", n)
		in := struct {
			ConfigurationName, TicketId, GameSessionArn string
			Players                                     []seated
		}{config, id, d.GameSessionConnectionInfo.GameSessionArn, nil}
		for _, p := range first.players {
			in.Players = append(in.Players, seated{p, "all"})
		}
		if err := a.api.Call(ctx, "StartMatchBackfill", in, new(struct{})); err != nil {
			return err
		}
		a.keep("backfill tickets", id, func(l *lookup) error { return l.backfill(id) })
	}
	_, err = a.ticket(ctx, fmt.Sprintf("ticket-%d-one", n), config, "of-")
	return err
}

// find checks that a ticket is COMPLETED with one seat for each player, that its game session has no more players than
// seats, and that exactly one event reports the match.
func (t *ticket) find(l *lookup) error {
	d, err := describe(l.ctx, l.api, t.id)
	if err != nil {
		return err
	}
	switch d.Status {
	case "COMPLETED":
		if err := l.seats(t, &d); err != nil {
			return err
		}
		return l.once(t.id, func(e map[string]int) bool { return e["MatchmakingSucceeded"] == 1 })
	case "REQUIRES_ACCEPTANCE":
		_ = t.accept(l.ctx, l.api)
	case "QUEUED", "SEARCHING":
		l.alone[t.config] = true
	case "PLACING":
	default:
		return fmt.Errorf("it is %s", d.Status)
	}
	return fmt.Errorf("%w: it is %s", errLater, d.Status)
}

// seats checks the seats of a ticket: each player has exactly one seat in the game session, no other ticket has that
// seat, and the game session is not overbooked.
func (l *lookup) seats(t *ticket, d *described) error {
	game, sessions := d.GameSessionConnectionInfo.GameSessionArn, d.GameSessionConnectionInfo.MatchedPlayerSessions
	if len(sessions) != len(t.players) {
		return fmt.Errorf("it is COMPLETED with %d seats", len(sessions))
	}
	for _, p := range t.players {
		var out struct {
			PlayerSessions []struct{ GameSessionId string }
		}
		if err := l.api.Call(l.ctx, "DescribePlayerSessions", calledPlayer{p}, &out); err != nil {
			return err
		}
		n := 0
		for _, s := range out.PlayerSessions {
			if s.GameSessionId == game {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("player %s has %d seats in its game session", p, n)
		}
	}
	if l.games[game] == nil {
		l.games[game] = make(map[string]bool)
	}
	for _, s := range sessions {
		if other := l.seated[s.PlayerSessionId]; other != "" && other != t.id {
			return fmt.Errorf("it has the seat of %s", other)
		}
		l.seated[s.PlayerSessionId] = t.id
		l.games[game][s.PlayerSessionId] = true
	}
	if most := seatsMax[t.config]; len(l.games[game]) > most {
		return fmt.Errorf("its game session has more than %d players", most)
	}
	return nil
}

// backfill checks the end of a backfill ticket: either it brought players before the restart, or the restart has ended
// its game session.
func (l *lookup) backfill(id string) error {
	d, err := describe(l.ctx, l.api, id)
	if err != nil {
		return err
	}
	if d.Status != "COMPLETED" && d.Status != "CANCELLED" && d.Status != "FAILED" {
		return fmt.Errorf("%w: it is %s", errLater, d.Status)
	}
	return l.once(id, func(e map[string]int) bool { return (e["MatchmakingSucceeded"] == 1) == (d.Status == "COMPLETED") })
}

// automatic returns the automatic backfill tickets that have appeared. Only events contain their ids.
func (l *lookup) automatic() (all []kept) {
	for id := range l.ticket {
		if strings.Contains(id, "ticket-") || strings.Contains(id, "backfill-") || strings.Contains(id, "partner-") || l.counted[id] {
			continue
		}
		l.counted[id] = true
		all = append(all, kept{"automatic backfill tickets", id, func(l *lookup) error { return l.backfill(id) }})
	}
	return all
}

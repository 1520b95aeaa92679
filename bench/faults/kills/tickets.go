package kills

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"troupe/bench/server"
)

// ticket is one that was answered. Its players are of-ID and, with two, with-ID.
type ticket struct {
	id, config string
	two        bool
}

func (t *ticket) players() []string {
	if t.two {
		return []string{"of-" + t.id, "with-" + t.id}
	}
	return []string{"of-" + t.id}
}

// start starts matchmaking for players of its own.
func (c caller) start(ctx context.Context, t *ticket) error {
	in := struct {
		ConfigurationName, TicketId string
		Players                     []player
	}{ConfigurationName: t.config, TicketId: t.id}
	for _, p := range t.players() {
		in.Players = append(in.Players, player{p})
	}
	err := c.api.Call(ctx, "StartMatchmaking", in, new(struct{}))
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	if err != nil {
		c.made.unanswered = append(c.made.unanswered, t)
		return err
	}
	c.made.tickets = append(c.made.tickets, t)
	return nil
}

// accepted starts two tickets, and accepts their matches, which may be with others.
func (c caller) accepted(ctx context.Context, n int) error {
	var waiting []*ticket
	for _, name := range []string{"a", "b"} {
		t := &ticket{id: fmt.Sprintf("ticket-%d-%s", n, name), config: "accepted"}
		if err := c.start(ctx, t); err != nil {
			return err
		}
		waiting = append(waiting, t)
	}
	for len(waiting) > 0 {
		var next []*ticket
		for _, t := range waiting {
			d, err := describe(ctx, c.api, t.id)
			if err != nil {
				return err
			}
			if d.Status == "REQUIRES_ACCEPTANCE" {
				_ = accept(ctx, c.api, t)
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

func accept(ctx context.Context, api *server.API, t *ticket) error {
	return api.Call(ctx, "AcceptMatch", struct {
		TicketId, AcceptanceType string
		PlayerIds                []string
	}{t.id, "ACCEPT", t.players()}, new(struct{}))
}

// backfilled starts a match of two and then a ticket of one player, for whom backfill finds a seat: that game session's, or another one's.
// The match is of a configuration with automatic backfill, or backfill is asked for.
func (c caller) backfilled(ctx context.Context, n int, config string) error {
	first := &ticket{id: fmt.Sprintf("ticket-%d", n), config: config, two: true}
	if err := c.start(ctx, first); err != nil {
		return err
	}
	var d described
	for d.Status != "COMPLETED" {
		var err error
		if d, err = describe(ctx, c.api, first.id); err != nil {
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
		for _, p := range first.players() {
			in.Players = append(in.Players, seated{p, "all"})
		}
		if err := c.api.Call(ctx, "StartMatchBackfill", in, new(struct{})); err != nil {
			return err
		}
		c.made.mu.Lock()
		c.made.backfills = append(c.made.backfills, id)
		c.made.mu.Unlock()
	}
	return c.start(ctx, &ticket{id: fmt.Sprintf("ticket-%d-one", n), config: config})
}

// described is a ticket as the API shows it.
type described struct {
	Status                    string
	GameSessionConnectionInfo struct {
		GameSessionArn        string
		MatchedPlayerSessions []struct{ PlayerId, PlayerSessionId string }
	}
}

var errNotThere = errors.New("not there")

func describe(ctx context.Context, api *server.API, id string) (d described, err error) {
	var out struct{ TicketList []described }
	if err := api.Call(ctx, "DescribeMatchmaking", struct{ TicketIds []string }{[]string{id}}, &out); err != nil {
		return d, err
	}
	if len(out.TicketList) != 1 {
		return d, errNotThere
	}
	return out.TicketList[0], nil
}

// seatsMax is the number of seats in the game sessions of a configuration.
var seatsMax = map[string]int{"duel": 2, "accepted": 2, "asked": 3, "automatic": 3}

// ticketCheck looks for the tickets of a round, once the host has been started again.
type ticketCheck struct {
	*bench
	ctx  context.Context
	api  *server.API
	made *made
	r    *Row
	lost func(what, id string, err error)
}

// tickets waits for the match of each ticket. Each must be COMPLETED with one seat for each player, in a game session with no more
// players than it has seats, and end in one event, of a match that succeeded.
func (c *ticketCheck) tickets() {
	c.r.Tickets += len(c.made.tickets)
	deadline := time.Now().Add(c.Patience)
	ends := c.matched(deadline)
	seats, games := map[string]string{}, map[string]int{}
	for t, d := range ends {
		game := d.GameSessionConnectionInfo.GameSessionArn
		err := c.seated(t, &d)
		for _, s := range d.GameSessionConnectionInfo.MatchedPlayerSessions {
			if other := seats[s.PlayerSessionId]; err == nil && other != "" {
				err = fmt.Errorf("has the seat of %s", other)
			}
			seats[s.PlayerSessionId] = t.id
			games[game]++
		}
		if most := seatsMax[t.config]; err == nil && games[game] > most {
			err = fmt.Errorf("its game session has more than %d players", most)
		}
		if err != nil {
			c.lost("ticket", t.id, err)
		}
	}
	c.r.Matched += c.once(deadline, slices.Collect(func(yield func(string) bool) {
		for t := range ends {
			if !yield(t.id) {
				return
			}
		}
	}), func(_ string, e endEvents) bool { return e["MatchmakingSucceeded"] == 1 && e.sum() == 1 })
}

// matched accepts what is to be accepted, and starts tickets for those who need a partner, until all tickets are COMPLETED.
func (c *ticketCheck) matched(deadline time.Time) map[*ticket]described {
	ends := make(map[*ticket]described)
	waiting := slices.Clone(c.made.tickets)
	partners := caller{c.api, new(made), c.book, 0}
	more := time.Now()
	for len(waiting) > 0 {
		alone := map[string]int{} // by configuration
		var next []*ticket
		for _, t := range waiting {
			d, err := describe(c.ctx, c.api, t.id)
			switch {
			case err != nil:
			case d.Status == "COMPLETED":
				ends[t] = d
				continue
			case d.Status == "REQUIRES_ACCEPTANCE":
				_ = accept(c.ctx, c.api, t)
			case d.Status == "QUEUED", d.Status == "SEARCHING":
				alone[t.config]++
			case d.Status != "PLACING":
				err = fmt.Errorf("is %s", d.Status)
			}
			if err == nil && time.Now().After(deadline) {
				err = fmt.Errorf("still %s", d.Status)
			}
			if err != nil {
				c.lost("ticket", t.id, err)
				continue
			}
			next = append(next, t)
		}
		for _, t := range c.others(partners.made) { // they may be in a match with one that is waited for
			_ = accept(c.ctx, c.api, t)
		}
		if waiting = next; time.Since(more) > time.Second {
			more = time.Now()
			for config := range alone {
				_ = partners.start(c.ctx, &ticket{id: fmt.Sprintf("partner-%d", c.book.number()), config: config})
			}
		}
		if rest(c.ctx, 20*time.Millisecond) != nil {
			return ends
		}
	}
	c.strays = nil
	for _, t := range c.others(partners.made) {
		if d, err := describe(c.ctx, c.api, t.id); err == nil && d.Status != "COMPLETED" {
			c.strays = append(c.strays, t)
		}
	}
	return ends
}

// others are the tickets whose matches must be accepted and that nobody waits for: those of partners, those whose start had no answer, and those
// that are left of earlier rounds.
func (c *ticketCheck) others(partners *made) (all []*ticket) {
	for _, t := range slices.Concat(partners.tickets, partners.unanswered, c.made.unanswered, c.strays) {
		if t.config == "accepted" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// seated looks for the seats of a ticket: each of its players has one in the game session, and no other.
func (c *ticketCheck) seated(t *ticket, d *described) error {
	if n := len(d.GameSessionConnectionInfo.MatchedPlayerSessions); n != len(t.players()) {
		return fmt.Errorf("is COMPLETED with %d seats", n)
	}
	for _, p := range t.players() {
		var out struct {
			PlayerSessions []struct{ GameSessionId string }
		}
		if err := c.api.Call(c.ctx, "DescribePlayerSessions", struct{ PlayerId string }{p}, &out); err != nil {
			return err
		}
		n := 0
		for _, s := range out.PlayerSessions {
			if s.GameSessionId == d.GameSessionConnectionInfo.GameSessionArn {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("player %s has %d seats in its game session", p, n)
		}
	}
	return nil
}

// backfills waits for the end of each backfill ticket, also of automatic ones, which are known by their events. The restart has ended
// the game sessions: it has brought players before, or it ends now. Each ends in one event.
func (c *ticketCheck) backfills() {
	deadline := time.Now().Add(c.Patience)
	status := map[string]string{}
	wait := func(id string) {
		for {
			d, err := describe(c.ctx, c.api, id)
			if err == nil && (d.Status == "COMPLETED" || d.Status == "CANCELLED" || d.Status == "FAILED") {
				status[id] = d.Status
				return
			}
			if err == nil && (time.Now().After(deadline) || rest(c.ctx, 20*time.Millisecond) != nil) {
				err = fmt.Errorf("still %s", d.Status)
			}
			if err != nil {
				c.lost("backfill ticket", id, err)
				return
			}
		}
	}
	c.r.Backfills += len(c.made.backfills)
	for _, id := range c.made.backfills {
		wait(id)
	}
	told, err := c.ends()
	if err != nil {
		c.r.Errors = append(c.r.Errors, err.Error())
	}
	for id := range told {
		if strings.Contains(id, "ticket-") || strings.Contains(id, "backfill-") || strings.Contains(id, "partner-") || c.done[id] {
			continue
		}
		c.done[id] = true
		c.r.Backfills++
		wait(id)
	}
	for _, s := range status {
		if s == "COMPLETED" {
			c.r.Filled++
		}
	}
	c.r.Ended += c.once(deadline, slices.Collect(maps.Keys(status)), func(id string, e endEvents) bool {
		return e.sum() == 1 && (e["MatchmakingSucceeded"] == 1) == (status[id] == "COMPLETED")
	})
}

// once waits until all tickets have the events that right wants, and returns how many do.
func (c *ticketCheck) once(deadline time.Time, ids []string, right func(id string, e endEvents) bool) int {
	for {
		told, err := c.ends()
		if err != nil {
			c.r.Errors = append(c.r.Errors, err.Error())
			return 0
		}
		n, wrong := 0, ""
		for _, id := range ids {
			if right(id, told[id]) {
				n++
			} else {
				wrong = fmt.Sprintf("ticket %s has ended in the events %v", id, told[id])
			}
		}
		if n == len(ids) {
			return n
		}
		if time.Now().After(deadline.Add(5*time.Second)) || rest(c.ctx, 50*time.Millisecond) != nil {
			c.r.Errors = append(c.r.Errors, wrong)
			return n
		}
	}
}

// endEvents counts the events of the end of one ticket, by type.
type endEvents map[string]int

func (e endEvents) sum() (n int) {
	for _, count := range e {
		n += count
	}
	return n
}

var endTypes = []string{"MatchmakingSucceeded", "MatchmakingCancelled", "MatchmakingFailed", "MatchmakingTimedOut"}

// ends reads the file of events: how each ticket has ended.
func (b *bench) ends() (map[string]endEvents, error) {
	f, err := os.Open(b.eventFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	told, seen := make(map[string]endEvents), make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "Matchmaking") {
			continue
		}
		var e struct {
			ID     string
			Detail struct {
				Type    string
				Tickets []struct{ TicketID string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || seen[e.ID] || !slices.Contains(endTypes, e.Detail.Type) {
			continue // a line that a kill cut; one more delivery of the same event; or no end
		}
		seen[e.ID] = true
		for _, t := range e.Detail.Tickets {
			if told[t.TicketID] == nil {
				told[t.TicketID] = endEvents{}
			}
			told[t.TicketID][e.Detail.Type]++
		}
	}
	return told, lines.Err()
}

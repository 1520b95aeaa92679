package kills

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"troupe/bench/server"
)

// counts are what was answered.
type counts struct{ GameSessions, PlayerSessions, Placements, Tickets, Backfills, Others int }

func (c counts) sum() int {
	return c.GameSessions + c.PlayerSessions + c.Placements + c.Tickets + c.Backfills + c.Others
}

// made is what one host has answered before its end.
type made struct {
	mu             sync.Mutex
	gameSessions   map[string]string // id -> name
	playerSessions map[string]string // id -> player
	placements     []string
	tickets        []*ticket
	unanswered     []*ticket // whose start had no answer: they may exist
	backfills      []string
	queues         []string
	aliases        map[string]string // id -> description, the last one answered
}

// book is what all rounds share: numbers that are never used twice.
type book struct {
	mu   sync.Mutex
	next int
}

func newBook() *book { return new(book) }

func (k *book) number() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	return k.next
}

func newMade() *made {
	return &made{gameSessions: map[string]string{}, playerSessions: map[string]string{}, aliases: map[string]string{}}
}

// burden calls the host until it is gone or the time is over, and returns what was answered.
func (b *bench) burden(ctx context.Context, proc *server.Process, limit time.Duration) *made {
	m := newMade()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() {
		select {
		case <-proc.Exited():
			cancel()
		case <-ctx.Done():
		}
	}()
	api := proc.API(b.Workers)
	defer api.Close()
	var all sync.WaitGroup
	for i := range b.Workers {
		all.Go(func() {
			c := caller{api, m, b.book, i}
			for ctx.Err() == nil {
				if c.turn(ctx) != nil {
					_ = rest(ctx, time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	return m
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// caller is one of the callers.
type caller struct {
	api  *server.API
	made *made
	book *book
	i    int
}

// turn makes one of each kind of thing.
func (c caller) turn(ctx context.Context) error {
	n := c.book.number()
	switch c.i % 7 {
	case 0:
		return c.placement(ctx, n)
	case 1:
		return c.start(ctx, &ticket{id: fmt.Sprintf("ticket-%d", n), config: "duel"})
	case 2:
		return c.game(ctx, n)
	case 3:
		return c.accepted(ctx, n)
	case 4:
		return c.backfilled(ctx, n, "asked")
	case 5:
		return c.backfilled(ctx, n, "automatic")
	default:
		return c.settings(ctx, n)
	}
}

func (c caller) placement(ctx context.Context, n int) error {
	queue := "queue-a"
	if n%7 == 0 {
		queue = "queue-none" // times out, maybe after the restart
	}
	id := fmt.Sprintf("placement-%d", n)
	in := struct {
		PlacementId, GameSessionQueueName string
		MaximumPlayerSessionCount         int
		DesiredPlayerSessions             []player
	}{id, queue, 4, []player{{"one"}, {"two"}}}
	if err := c.api.Call(ctx, "StartGameSessionPlacement", in, new(struct{})); err != nil {
		return err
	}
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	c.made.placements = append(c.made.placements, id)
	return nil
}

type player struct{ PlayerId string }

func (c caller) game(ctx context.Context, n int) error {
	name := fmt.Sprintf("game %d", n)
	var out struct {
		GameSession struct{ GameSessionId string }
	}
	in := struct {
		FleetId, Name             string
		MaximumPlayerSessionCount int
	}{"fleet-a", name, 8}
	if err := c.api.Call(ctx, "CreateGameSession", in, &out); err != nil {
		return err
	}
	id := out.GameSession.GameSessionId
	c.made.mu.Lock()
	c.made.gameSessions[id] = name
	c.made.mu.Unlock()
	for i := range 4 {
		who := fmt.Sprintf("player-%d-%d", n, i)
		var out struct {
			PlayerSession struct{ PlayerSessionId string }
		}
		err := c.api.Call(ctx, "CreatePlayerSession", struct{ GameSessionId, PlayerId string }{id, who}, &out)
		if err != nil && strings.Contains(err.Error(), "InvalidGameSessionStatus") && rest(ctx, 2*time.Millisecond) == nil {
			continue // not ACTIVE yet
		}
		if err != nil {
			return err
		}
		c.made.mu.Lock()
		c.made.playerSessions[out.PlayerSession.PlayerSessionId] = who
		c.made.mu.Unlock()
	}
	return nil
}

// settings makes a queue, and an alias that it changes.
func (c caller) settings(ctx context.Context, n int) error {
	queue := fmt.Sprintf("queue-%d", n)
	if err := c.api.Call(ctx, "CreateGameSessionQueue", struct{ Name string }{queue}, new(struct{})); err != nil {
		return err
	}
	c.made.mu.Lock()
	c.made.queues = append(c.made.queues, queue)
	c.made.mu.Unlock()
	type strategy struct{ Type, Message string }
	var out struct{ Alias struct{ AliasId string } }
	in := struct {
		Name            string
		RoutingStrategy strategy
	}{fmt.Sprintf("alias %d", n), strategy{"TERMINAL", "closed"}}
	if err := c.api.Call(ctx, "CreateAlias", in, &out); err != nil {
		return err
	}
	id := out.Alias.AliasId
	c.describe(id, "")
	text := fmt.Sprintf("changed %d", n)
	if err := c.api.Call(ctx, "UpdateAlias", struct{ AliasId, Description string }{id, text}, new(struct{})); err != nil {
		return err
	}
	c.describe(id, text)
	return nil
}

func (c caller) describe(id, text string) {
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	c.made.aliases[id] = text
}

// endLimit is how long placements may take to end after a restart: their timeout and five seconds (RL-19).
const endLimit = 15 * time.Second

// check looks for all that was answered.
func (b *bench) check(ctx context.Context, proc *server.Process, m *made, r *Row) {
	api := proc.API(b.Workers)
	defer api.Close()
	r.Answered.GameSessions += len(m.gameSessions)
	r.Answered.PlayerSessions += len(m.playerSessions)
	r.Answered.Placements += len(m.placements)
	r.Answered.Tickets += len(m.tickets)
	r.Answered.Backfills += len(m.backfills)
	r.Answered.Others += len(m.queues) + len(m.aliases)
	lost := func(what, id string, err error) {
		r.Lost++
		if len(r.Errors) < 20 {
			r.Errors = append(r.Errors, fmt.Sprintf("%s %s: %v", what, id, err))
		}
	}
	for id, name := range m.gameSessions {
		var out struct {
			GameSessions []struct{ Name, Status string }
		}
		err := api.Call(ctx, "DescribeGameSessions", struct{ GameSessionId string }{id}, &out)
		if err == nil && (len(out.GameSessions) != 1 || out.GameSessions[0].Name != name || out.GameSessions[0].Status != "TERMINATED") {
			err = fmt.Errorf("described as %+v", out)
		}
		if err != nil {
			lost("game session", id, err)
		}
	}
	for id, who := range m.playerSessions {
		var out struct {
			PlayerSessions []struct{ PlayerId, Status string }
		}
		err := api.Call(ctx, "DescribePlayerSessions", struct{ PlayerSessionId string }{id}, &out)
		if err == nil && (len(out.PlayerSessions) != 1 || out.PlayerSessions[0].PlayerId != who || out.PlayerSessions[0].Status != "TIMEDOUT") {
			err = fmt.Errorf("described as %+v", out)
		}
		if err != nil {
			lost("player session", id, err)
		}
	}
	for _, name := range m.queues {
		var out struct{ GameSessionQueues []struct{ Name string } }
		err := api.Call(ctx, "DescribeGameSessionQueues", struct{ Names []string }{[]string{name}}, &out)
		if err == nil && len(out.GameSessionQueues) != 1 {
			err = errors.New("not there")
		}
		if err != nil {
			lost("queue", name, err)
		}
	}
	for id, description := range m.aliases {
		var out struct{ Alias struct{ Description string } }
		err := api.Call(ctx, "DescribeAlias", struct{ AliasId string }{id}, &out)
		if err == nil && description != "" && out.Alias.Description != description {
			err = fmt.Errorf("described as %+v", out)
		}
		if err != nil {
			lost("alias", id, err)
		}
	}
	b.checkPlacements(ctx, api, m, r, lost)
	t := ticketCheck{b, ctx, api, m, r, lost}
	t.tickets()
	t.backfills()
}

// clear deletes queues and aliases: a host takes a number of them only.
func (b *bench) clear(ctx context.Context, proc *server.Process, m *made) {
	api := proc.API(1)
	defer api.Close()
	for _, name := range m.queues {
		_ = api.Call(ctx, "DeleteGameSessionQueue", struct{ Name string }{name}, new(struct{}))
	}
	for id := range m.aliases {
		_ = api.Call(ctx, "DeleteAlias", struct{ AliasId string }{id}, new(struct{}))
	}
}

// checkPlacements waits for the end of each placement, and counts its events.
func (b *bench) checkPlacements(ctx context.Context, api *server.API, m *made, r *Row, lost func(what, id string, err error)) {
	r.Placements += len(m.placements)
	ends := make(map[string]string)
	deadline := time.Now().Add(b.Patience)
	for _, id := range m.placements {
		for {
			var out struct{ GameSessionPlacement struct{ Status string } }
			if err := api.Call(ctx, "DescribeGameSessionPlacement", struct{ PlacementId string }{id}, &out); err != nil {
				lost("placement", id, err)
				break
			}
			if s := out.GameSessionPlacement.Status; s != "PENDING" {
				ends[id] = s
				break
			}
			if time.Now().After(deadline) || rest(ctx, 50*time.Millisecond) != nil {
				lost("placement", id, errors.New("still PENDING"))
				break
			}
		}
	}
	types := map[string]string{"FULFILLED": "PlacementFulfilled", "TIMED_OUT": "PlacementTimedOut", "FAILED": "PlacementFailed", "CANCELLED": "PlacementCancelled"}
	for {
		told, err := b.events()
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
			return
		}
		once, wrong := 0, ""
		for id, status := range ends {
			if e := told[id]; len(e) == 1 && e[types[status]] == 1 {
				once++
			} else {
				wrong = fmt.Sprintf("placement %s is %s and has the events %v", id, status, e)
			}
		}
		if once == len(ends) || time.Now().After(deadline.Add(5*time.Second)) || rest(ctx, 50*time.Millisecond) != nil {
			r.EndedOnce += once
			if wrong != "" && once < len(ends) {
				r.Errors = append(r.Errors, wrong)
			}
			return
		}
	}
}

// events reads the file of events: for each placement its types, each with the number of event ids.
func (b *bench) events() (map[string]map[string]int, error) {
	f, err := os.Open(b.eventFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	told, seen := make(map[string]map[string]int), make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			ID     string
			Detail struct{ Type, PlacementID string }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Detail.PlacementID == "" || seen[e.ID] {
			continue // a line that a kill cut; or one more delivery of the same event
		}
		seen[e.ID] = true
		if told[e.Detail.PlacementID] == nil {
			told[e.Detail.PlacementID] = make(map[string]int)
		}
		told[e.Detail.PlacementID][e.Detail.Type]++
	}
	return told, lines.Err()
}

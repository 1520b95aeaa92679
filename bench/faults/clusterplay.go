package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"troupe/bench/server"
	"troupe/messages/coord"
)

const (
	// gamesOfEach is the number of game sessions with players on each host, on average.
	gamesOfEach = 2
	// seatsOfGame is enough for the reservations of a minute, beside the players.
	seatsOfGame = 200
	watchEvery  = 100 * time.Millisecond
	statusEvery = 300 * time.Millisecond
	// healedMax bounds the wait until the cluster is whole again (CL-210).
	healedMax = 30 * time.Second
	// backGrace is how long after a fault a call may still be affected by it: as long as it takes to give up.
	backGrace = 15 * time.Second
)

// game is a game session with players.
type game struct {
	id   string
	node int // number of its host
	room server.Room
	crew *crew
}

// watch records what the cluster says about itself. Its methods may be called from any goroutine.
type watch struct {
	c     *cluster
	games []*game

	mu      sync.Mutex             // guards the fields below
	ended   map[string][]time.Time // when each host first said TERMINATED, by game session
	back    violations             // answers that contradict an earlier one of the same host
	noted   violations
	gone    map[string][]time.Time // when a registration was found to be missing
	present map[string]int64
	joined  map[string][]time.Time // when a registration was found
	led     []change
	whole   time.Time // since when all hosts are registered, none of them anew, and one leads; zero: they are not
}

type change struct {
	at   time.Time
	node string
}

func (w *watch) note(format string, values ...any) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted.add(format, values...)
}

// run watches until halt is closed.
func (w *watch) run(ctx context.Context, halt <-chan struct{}) {
	var all sync.WaitGroup
	every := func(period time.Duration, do func(ctx context.Context)) {
		all.Go(func() {
			tick := time.NewTicker(period)
			defer tick.Stop()
			for {
				select {
				case <-halt:
					return
				case <-ctx.Done():
					return
				case <-tick.C:
					do(ctx)
				}
			}
		})
	}
	every(watchEvery, w.registrations)
	for i := range w.c.nodes {
		every(statusEvery, func(ctx context.Context) { w.statuses(ctx, i) })
	}
	all.Wait()
}

func (w *watch) registrations(ctx context.Context) {
	now, err := w.c.registered(ctx)
	leader, _ := w.c.leader(ctx)
	at := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(now) < len(w.c.nodes) || leader == "" {
		w.whole = time.Time{}
	} else if w.whole.IsZero() || !maps.Equal(now, w.present) {
		w.whole = at
	}
	if err != nil {
		return
	}
	for name, incarnation := range now {
		if w.present[name] != incarnation {
			w.joined[name] = append(w.joined[name], at)
		}
	}
	for name := range w.present {
		if now[name] == 0 {
			w.gone[name] = append(w.gone[name], at)
		}
	}
	w.present = now
	if leader != "" && (len(w.led) == 0 || w.led[len(w.led)-1].node != leader) {
		w.led = append(w.led, change{at, leader})
	}
}

// statuses asks a host for the status of each game.
func (w *watch) statuses(ctx context.Context, node int) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for _, g := range w.games {
		in := struct{ GameSessionId string }{g.id}
		var out struct{ GameSessions []struct{ Status string } }
		if w.c.nodes[node].client().Call(ctx, "DescribeGameSessions", in, &out) != nil {
			continue // not answered: the status is unknown
		}
		status := "none"
		if len(out.GameSessions) == 1 {
			status = out.GameSessions[0].Status
		}
		w.mu.Lock()
		switch ended := &w.ended[g.id][node]; {
		case status == "TERMINATED" && ended.IsZero():
			*ended = time.Now()
		case status != "TERMINATED" && !ended.IsZero():
			w.back.add("node-%d said %s after TERMINATED of %s", node, status, g.id)
		case status == "none":
			w.back.add("node-%d does not know %s", node, g.id)
		}
		w.mu.Unlock()
	}
}

// playCluster lets players play at all hosts of a cluster while the faults happen, and then judges.
func (r *run) playCluster(ctx context.Context, plan *Plan, report *Report) (err error) {
	report.Plan = plan
	c, err := r.startCluster(ctx, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	games, err := c.openGames(ctx)
	defer func() {
		for _, g := range games {
			g.crew.leave(false)
		}
	}()
	if err != nil {
		return err
	}
	report.Players *= len(games)
	w := &watch{c: c, games: games, ended: map[string][]time.Time{}, gone: map[string][]time.Time{}, joined: map[string][]time.Time{}}
	for _, g := range games {
		w.ended[g.id] = make([]time.Time, len(c.nodes))
	}
	l := &load{c: c, games: games}
	if err := l.ready(ctx); err != nil {
		return err
	}
	c.watched, c.calls = w, l
	if anyOf(r.events, Restore) {
		if err := c.etcd(ctx, "snapshot", c.backup(), "--endpoint", c.members[0].url); err != nil {
			return err
		}
	}
	r.line.begin()
	halt, quiet := make(chan struct{}), make(chan struct{})
	var playing, watching sync.WaitGroup
	stop := sync.OnceFunc(func() { close(halt); playing.Wait() })
	defer sync.OnceFunc(func() { close(quiet); watching.Wait() })()
	defer stop()
	for _, g := range games {
		for i, p := range g.crew.players {
			playing.Go(func() { p.play(halt, sendEvery*time.Duration(i)/time.Duration(len(g.crew.players))) })
		}
	}
	playing.Go(func() { l.run(ctx, halt) })
	watching.Go(func() { w.run(ctx, quiet) })
	watching.Go(func() { c.late.watch(quiet) })
	r.o.Watch.Begin(fmt.Sprintf("seed %d, %d hosts, %d games of %d players", r.o.Seed, plan.Nodes, len(games), r.o.Players), 0, 1, time.Duration(plan.Length))
	if err := schedule(ctx, r.events, time.Duration(plan.Length), func(e Event) (func() error, error) { return c.begin(ctx, e) }); err != nil {
		return err
	}
	healed := time.Now()
	if err := w.awaitWhole(ctx, healed); err != nil {
		return err
	}
	if err := rest(ctx, 2*time.Second); err != nil {
		return err
	}
	stop()
	j := &clusterJudge{cluster: c, load: l, watch: w, games: games, healed: healed}
	err = j.judge(ctx, report)
	r.o.Watch.End(report.Figures.String())
	return err
}

// openGames creates game sessions until each host has one, and at least gamesOfEach for each host, and logs players in.
func (c *cluster) openGames(ctx context.Context) (games []*game, err error) {
	for n := 0; ; n++ {
		has := make([]int, len(c.nodes))
		for _, g := range games {
			has[g.node]++
		}
		if len(games) >= gamesOfEach*len(c.nodes) && !slices.Contains(has, 0) {
			return games, nil
		}
		if n > 20*len(c.nodes) {
			return games, fmt.Errorf("of %d game sessions, the hosts have %v", n, has)
		}
		g, err := c.openGame(ctx, n, has)
		if err != nil {
			return games, err
		}
		if g != nil {
			games = append(games, g)
		}
	}
}

// openGame creates a game session at one host and logs players in. It returns nil if the host of the game session has
// enough of them.
func (c *cluster) openGame(ctx context.Context, n int, has []int) (*game, error) {
	api := c.nodes[n%len(c.nodes)].client()
	in := struct {
		FleetId, Name             string
		MaximumPlayerSessionCount int
	}{ownFleet, "played", seatsOfGame}
	var out struct {
		GameSession struct {
			GameSessionId string
			Port          int
		}
	}
	if err := api.Call(ctx, "CreateGameSession", in, &out); err != nil {
		return nil, err
	}
	first := 0 // number of games before this one
	for _, n := range has {
		first += n
	}
	g := &game{id: out.GameSession.GameSessionId}
	g.node = slices.IndexFunc(c.nodes, func(m *machine) bool {
		_, port, _ := net.SplitHostPort(m.process().Announce.WS)
		return port == fmt.Sprint(out.GameSession.Port)
	})
	if g.node < 0 {
		return nil, fmt.Errorf("no host has port %d", out.GameSession.Port)
	}
	if has[g.node] > gamesOfEach {
		return nil, nil
	}
	owner := c.nodes[g.node].process()
	if err := owner.AwaitActive(ctx, g.id); err != nil {
		return nil, err
	}
	seats := struct {
		GameSessionId string
		PlayerIds     []string
	}{GameSessionId: g.id}
	for i := range c.o.Players {
		seats.PlayerIds = append(seats.PlayerIds, fmt.Sprint("player-", i))
	}
	var made struct {
		PlayerSessions []struct{ PlayerSessionId string }
	}
	if err := api.Call(ctx, "CreatePlayerSessions", seats, &made); err != nil {
		return nil, err
	}
	g.room = server.Room{Number: n, Session: g.id, Addr: owner.Announce.WS}
	for _, s := range made.PlayerSessions {
		g.room.IDs = append(g.room.IDs, s.PlayerSessionId)
	}
	reach, err := c.access(g.room, owner)
	if err != nil {
		return nil, err
	}
	if g.crew, err = enter(ctx, c.o.Network, c.o.Seed, g.room.IDs, reach, c.line, c.o.Players*first); err != nil {
		return nil, err
	}
	for _, p := range g.crew.players {
		c.players[g.node] = append(c.players[g.node], p.path)
	}
	return g, nil
}

// awaitWhole waits until all hosts are registered and one leads, for at most healedMax.
func (w *watch) awaitWhole(ctx context.Context, healed time.Time) error {
	for time.Since(healed) < healedMax {
		w.mu.Lock()
		whole := !w.whole.IsZero()
		w.mu.Unlock()
		if whole {
			break
		}
		if err := rest(ctx, watchEvery); err != nil {
			return err
		}
	}
	return nil
}

// directory returns the game sessions in the directory and their owners.
func (c *cluster) directory(ctx context.Context) (map[string]string, error) {
	found, err := c.store.Read(ctx, coord.Query{Key: string(coord.KeysOf(clusterName)) + "game/", Prefix: true})
	all := map[string]string{}
	for _, kv := range found.KVs {
		var g coord.Game
		if err := json.Unmarshal(kv.Value, &g); err != nil {
			return nil, err
		}
		all[string(g.ARN)] = g.Owner
	}
	return all, err
}

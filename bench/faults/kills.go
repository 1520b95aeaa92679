package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/fault"
	"troupe/bench/server"
)

const (
	// killCallers is the number of concurrent callers of the service API that load the host before it is killed.
	killCallers = 28
	// foundMax is how long after a restart it may take until everything that was acknowledged is found. Placements time
	// out after at most 10 s and end at most 5 s later (RL-19), with their events.
	foundMax      = 20 * time.Second
	foundMaxQuick = 2 * time.Minute
	// atRandom replaces the name of a failpoint: the run kills the host with SIGKILL at a random moment.
	atRandom = "a random moment"
)

// killConfig has a fleet in two locations, queues, and matchmaking configurations with acceptance and with both kinds
// of backfill.
const killConfig = `locations: [{name: us-west-2}]
fleets:
- {id: fleet-a, name: a, gameSessionsMax: 1000000, locations: [{name: us-west-2}]}
aliases: [{id: alias-a, name: a, fleet: fleet-a}]
queues:
- {name: queue-a, timeout: 10s, destinations: [alias-a]}
- {name: queue-none, timeout: 10s, destinations: []}
matchmaking:
  passInterval: 50ms
  ruleSets:
  - {name: duel, body: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "player", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}]}'}
  - {name: three, body: '{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 3}]}'}
  configurations:
  - {name: duel, ruleSet: duel, queue: queue-a, requestTimeout: 600s}
  - {name: accepted, ruleSet: duel, queue: queue-a, requestTimeout: 600s, acceptanceRequired: true, acceptanceTimeout: 600s}
  - {name: asked, ruleSet: three, queue: queue-a, requestTimeout: 600s}
  - {name: automatic, ruleSet: three, queue: queue-a, requestTimeout: 600s, autoBackfill: true}
log: {level: error}
events: {sinks: [{name: all, type: file, path: %q, all: true}]}
`

// seatsMax is the number of seats in a game session, by matchmaking configuration.
var seatsMax = map[string]int{"duel": 2, "accepted": 2, "asked": 3, "automatic": 3}

// killing is the state that all kills of a run share.
type killing struct {
	*run
	spec    server.Spec
	events  string // path of the file with all events
	random  *rand.Rand
	number  atomic.Int64    // last number used; names contain numbers so that none is used twice
	strays  []*ticket       // tickets with acceptance that no check waits for
	counted map[string]bool // automatic backfill tickets that have been checked
}

// playKills kills the host at each failpoint of this program and at random moments. Each is repeated as often as the
// plan says. After each restart it checks for everything that was acknowledged. All kills use the same store. If the
// program is built without failpoints, it kills at random moments only.
func (r *run) playKills(ctx context.Context, report *Report) error {
	k := &killing{run: r, events: filepath.Join(r.dir, "events.jsonl"), random: rand.New(rand.NewPCG(r.o.Seed, 1)), counted: make(map[string]bool)}
	config := filepath.Join(r.dir, "kills.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, killConfig, k.events), 0o600); err != nil {
		return err
	}
	k.spec = server.Spec{Kind: server.Troupe, Bin: r.o.Bin, FleetID: "fleet-a", Config: config, Sets: append([]string{"store.path=" + filepath.Join(r.dir, "kills.db")}, r.o.Sets...)}
	points := []string{atRandom}
	if fault.Enabled {
		points = append(fault.Names(), atRandom)
	}
	load := time.Duration(r.events[0].For)
	for i, point := range points {
		r.o.Watch.Begin(point, i, len(points), time.Duration(len(r.events))*(load+2*time.Second))
		var lost violations
		answered, outside, longest := map[string]int{}, 0, time.Duration(0)
		for range r.events {
			a, killed, took, err := k.once(ctx, point, load, &lost)
			if err != nil {
				return fmt.Errorf("%s: %w", point, err)
			}
			if !killed {
				outside++
			}
			longest = max(longest, took)
			for _, one := range a.kept {
				answered[one.kind]++
			}
		}
		total := 0
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(answered)) {
			total += answered[kind]
			kinds = append(kinds, fmt.Sprintf("%d %s", answered[kind], kind))
		}
		v := lost.judge("RL-18", "what was answered before a SIGKILL at "+point+" is there after it, and ends once", "%d kills, %d of them from outside; %d answers, %d lost (%s); started again within %v",
			len(r.events), outside, total, lost.count, strings.Join(kinds, ", "), longest.Round(time.Millisecond))
		report.Verdicts = append(report.Verdicts, v)
		r.o.Watch.End(v.Detail)
	}
	return nil
}

// once kills the host once and then checks for everything that the host had acknowledged. killed reports whether the
// failpoint ended the host. took is the duration of the next start.
func (k *killing) once(ctx context.Context, point string, load time.Duration, lost *violations) (a *answers, killed bool, took time.Duration, err error) {
	spec := k.spec
	if point != atRandom {
		most := 150
		if strings.Contains(point, "checkpoint") {
			most = 2 // there is one checkpoint per several thousand pages of the log
		}
		spec.Env = []string{fmt.Sprintf("%s=%s=kill:%d", fault.Variable, point, 1+k.random.IntN(most))}
	} else {
		load = time.Duration(float64(load) * k.random.Float64())
	}
	a = &answers{k: k}
	switch proc, err := server.Start(ctx, spec); {
	case err == nil:
		killed = a.burden(ctx, proc, load)
		proc.Kill()
		if err := proc.Stop(); err != nil {
			return a, killed, 0, err
		}
	case point == atRandom || ctx.Err() != nil:
		return a, false, 0, err
	default:
		killed = true // the failpoint's count was reached during the start
	}
	begun := time.Now()
	proc, err := server.Start(ctx, k.spec)
	if err != nil {
		return a, killed, 0, fmt.Errorf("start after a kill: %w", err)
	}
	took = time.Since(begun)
	k.lookFor(ctx, proc, a, lost)
	if err := errors.Join(ctx.Err(), proc.Stop()); err != nil {
		return a, killed, took, err
	}
	if err := os.Remove(k.events); !errors.Is(err, os.ErrNotExist) {
		return a, killed, took, err
	}
	return a, killed, took, nil
}

// answers records what one process of the host has acknowledged.
type answers struct {
	k    *killing
	api  *server.API
	mu   sync.Mutex // guards kept, and the strays of k
	kept []kept
}

// kept is one acknowledged call. find checks for its result after the restart. It returns errLater while the host is
// still working on it.
type kept struct {
	kind, id string
	find     func(l *lookup) error
}

var errLater = errors.New("not yet")

func (a *answers) keep(kind, id string, find func(l *lookup) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, kept{kind, id, find})
}

// burden calls the host until the host has ended or limit has elapsed.
func (a *answers) burden(ctx context.Context, proc *server.Process, limit time.Duration) (killed bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a.api = proc.API(killCallers)
	defer a.api.Close()
	var all sync.WaitGroup
	for i := range killCallers {
		all.Go(func() {
			for ctx.Err() == nil {
				if a.turn(ctx, i) != nil {
					_ = rest(ctx, time.Millisecond)
				}
			}
		})
	}
	select {
	case <-proc.Exited():
		killed = true
		cancel()
	case <-ctx.Done():
	}
	all.Wait()
	return killed
}

// turn makes one call. The kind of call depends on the caller's number.
func (a *answers) turn(ctx context.Context, caller int) error {
	n := a.k.number.Add(1)
	switch caller % 7 {
	case 0:
		return a.placement(ctx, n)
	case 1:
		_, err := a.ticket(ctx, fmt.Sprintf("ticket-%d", n), "duel", "of-")
		return err
	case 2:
		return a.game(ctx, n)
	case 3:
		return a.accepted(ctx, n)
	case 4:
		return a.backfilled(ctx, n, "asked")
	case 5:
		return a.backfilled(ctx, n, "automatic")
	}
	return a.settings(ctx, n)
}

type calledPlayer struct{ PlayerId string }

// placement starts a placement. The placement must end once, with exactly one event.
func (a *answers) placement(ctx context.Context, n int64) error {
	queue := "queue-a"
	if n%7 == 0 {
		queue = "queue-none" // it times out, often after the restart
	}
	id := fmt.Sprintf("placement-%d", n)
	in := struct {
		PlacementId, GameSessionQueueName string
		MaximumPlayerSessionCount         int
		DesiredPlayerSessions             []calledPlayer
	}{id, queue, 4, []calledPlayer{{"one"}, {"two"}}}
	if err := a.api.Call(ctx, "StartGameSessionPlacement", in, new(struct{})); err != nil {
		return err
	}
	ends := map[string]string{"FULFILLED": "PlacementFulfilled", "TIMED_OUT": "PlacementTimedOut", "FAILED": "PlacementFailed", "CANCELLED": "PlacementCancelled"}
	a.keep("placements", id, func(l *lookup) error {
		var out struct{ GameSessionPlacement struct{ Status string } }
		if err := l.api.Call(l.ctx, "DescribeGameSessionPlacement", struct{ PlacementId string }{id}, &out); err != nil {
			return err
		}
		status := out.GameSessionPlacement.Status
		if status == "PENDING" {
			return fmt.Errorf("%w: it is %s", errLater, status)
		}
		return l.once(id, func(e map[string]int) bool { return e[ends[status]] == 1 })
	})
	return nil
}

// game creates a game session with reserved seats. The restart must have ended the session and the seats.
func (a *answers) game(ctx context.Context, n int64) error {
	name := fmt.Sprintf("game %d", n)
	in := struct {
		FleetId, Name             string
		MaximumPlayerSessionCount int
	}{"fleet-a", name, 8}
	var out struct {
		GameSession struct{ GameSessionId string }
	}
	if err := a.api.Call(ctx, "CreateGameSession", in, &out); err != nil {
		return err
	}
	game := out.GameSession.GameSessionId
	a.keep("game sessions", game, func(l *lookup) error {
		var out struct {
			GameSessions []struct{ Name, Status string }
		}
		err := l.api.Call(l.ctx, "DescribeGameSessions", struct{ GameSessionId string }{game}, &out)
		if err == nil && (len(out.GameSessions) != 1 || out.GameSessions[0].Name != name || out.GameSessions[0].Status != "TERMINATED") {
			err = fmt.Errorf("described as %+v", out)
		}
		return err
	})
	for i := range 4 {
		who := fmt.Sprintf("player-%d-%d", n, i)
		var out struct {
			PlayerSession struct{ PlayerSessionId string }
		}
		err := a.api.Call(ctx, "CreatePlayerSession", struct{ GameSessionId, PlayerId string }{game, who}, &out)
		if err != nil && strings.Contains(err.Error(), "InvalidGameSessionStatus") && rest(ctx, 2*time.Millisecond) == nil {
			continue // not yet ACTIVE
		}
		if err != nil {
			return err
		}
		id := out.PlayerSession.PlayerSessionId
		a.keep("player sessions", id, func(l *lookup) error {
			var out struct {
				PlayerSessions []struct{ PlayerId, Status string }
			}
			err := l.api.Call(l.ctx, "DescribePlayerSessions", struct{ PlayerSessionId string }{id}, &out)
			if err == nil && (len(out.PlayerSessions) != 1 || out.PlayerSessions[0].PlayerId != who || out.PlayerSessions[0].Status != "TIMEDOUT") {
				err = fmt.Errorf("described as %+v", out)
			}
			return err
		})
	}
	return nil
}

// settings creates a queue and an alias, and updates the alias. The check deletes what it finds, because a host accepts
// only a limited number of queues and aliases.
func (a *answers) settings(ctx context.Context, n int64) error {
	queue := fmt.Sprintf("queue-%d", n)
	if err := a.api.Call(ctx, "CreateGameSessionQueue", struct{ Name string }{queue}, new(struct{})); err != nil {
		return err
	}
	a.keep("queues", queue, func(l *lookup) error {
		return l.api.Call(l.ctx, "DeleteGameSessionQueue", struct{ Name string }{queue}, new(struct{}))
	})
	id, err := createAlias(ctx, a.api, fmt.Sprintf("alias %d", n))
	if err != nil {
		return err
	}
	text := "" // last acknowledged description
	a.keep("aliases", id, func(l *lookup) error {
		var out struct{ Alias struct{ Description string } }
		err := l.api.Call(l.ctx, "DescribeAlias", struct{ AliasId string }{id}, &out)
		if err == nil && text != "" && out.Alias.Description != text {
			err = fmt.Errorf("described as %+v", out)
		}
		if err == nil {
			err = l.api.Call(l.ctx, "DeleteAlias", struct{ AliasId string }{id}, new(struct{}))
		}
		return err
	})
	changed := fmt.Sprintf("changed %d", n)
	if err := a.api.Call(ctx, "UpdateAlias", struct{ AliasId, Description string }{id, changed}, new(struct{})); err != nil {
		return err
	}
	text = changed
	return nil
}

// lookup checks for everything that was acknowledged before a restart.
type lookup struct {
	*killing
	ctx    context.Context
	api    *server.API
	ends   map[string]map[string]int  // number of events that report the end, by placement or ticket id, then by event type
	ticket map[string]bool            // keys of ends that are tickets
	alone  map[string]bool            // configurations with tickets that wait for other tickets
	seated map[string]string          // ticket by player session
	games  map[string]map[string]bool // player sessions of tickets, by game session
}

// lookFor checks for all acknowledged results and returns when none is pending.
func (k *killing) lookFor(ctx context.Context, proc *server.Process, a *answers, lost *violations) {
	a.api = proc.API(killCallers)
	defer a.api.Close()
	most := foundMax
	if k.o.Quick {
		most = foundMaxQuick
	}
	deadline, partners := time.Now().Add(most), time.Now()
	l := &lookup{killing: k, ctx: ctx, api: a.api, alone: map[string]bool{}, seated: map[string]string{}, games: map[string]map[string]bool{}}
	for pending := a.kept; len(pending) > 0 && ctx.Err() == nil; {
		if err := l.readEvents(); err != nil {
			lost.add("%v", err)
			return
		}
		pending = append(pending, l.automatic()...)
		clear(l.alone)
		var later []kept
		for _, one := range pending {
			switch err := one.find(l); {
			case errors.Is(err, errLater) && time.Now().Before(deadline):
				later = append(later, one)
			case err != nil:
				lost.add("%s %s: %v", one.kind, one.id, err)
			}
		}
		for _, t := range k.strays { // a stray may be in a match with a pending ticket
			_ = t.accept(ctx, a.api)
		}
		if time.Since(partners) > time.Second {
			partners = time.Now()
			for config := range l.alone {
				p := &ticket{id: fmt.Sprintf("partner-%d", k.number.Add(1)), config: config}
				p.players = []string{"of-" + p.id}
				_ = p.start(ctx, a.api)
				k.stray(p)
			}
		}
		if pending = later; rest(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
}

// once returns nil if exactly one event reports the end of a placement or ticket and right accepts that event. It
// returns errLater if there is no event yet.
func (l *lookup) once(id string, right func(events map[string]int) bool) error {
	events, n := l.ends[id], 0
	for _, count := range events {
		n += count
	}
	switch {
	case n == 0:
		return fmt.Errorf("%w: no event tells of its end", errLater)
	case n > 1 || !right(events):
		return fmt.Errorf("it has the events %v", events)
	}
	return nil
}

// endTypes are the events that end a placement or a ticket.
var endTypes = []string{
	"PlacementFulfilled", "PlacementTimedOut", "PlacementFailed", "PlacementCancelled",
	"MatchmakingSucceeded", "MatchmakingCancelled", "MatchmakingFailed", "MatchmakingTimedOut",
}

// readEvents fills ends and ticket from the file of events. It counts each event once, although an event may be
// delivered several times.
func (l *lookup) readEvents() error {
	l.ends, l.ticket = make(map[string]map[string]int), make(map[string]bool)
	f, err := os.Open(l.killing.events)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	seen := make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			ID     string
			Detail struct {
				Type, PlacementID string
				Tickets           []struct{ TicketID string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || seen[e.ID] || !slices.Contains(endTypes, e.Detail.Type) {
			continue // a line cut off by the kill, a repeated event, or an event that ends nothing
		}
		seen[e.ID] = true
		ids := []string{e.Detail.PlacementID}
		for _, t := range e.Detail.Tickets {
			ids = append(ids, t.TicketID)
			l.ticket[t.TicketID] = true
		}
		for _, id := range ids {
			if l.ends[id] == nil {
				l.ends[id] = make(map[string]int)
			}
			l.ends[id][e.Detail.Type]++
		}
	}
	return lines.Err()
}

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/bench/server"
	"troupe/messages/lazy"
	"troupe/transport/client"
)

// Calls counts the calls of one operation that had the same outcome.
type Calls struct {
	Operation string  `json:"operation"`
	Code      string  `json:"code"` // ok, the name of an exception, or "no answer"
	Count     int     `json:"count"`
	Hurt      int     `json:"hurt,omitempty"` // of which at a host under fault
	MaxMs     float64 `json:"max_ms"`
}

const (
	codeOK       = "ok"
	codeNoAnswer = "no answer"
	codeInternal = "InternalServiceException"
	codeOver     = "game over" // a login in a game session that has ended
)

// asked is one call.
type asked struct {
	operation, code string
	node            int
	from, to        time.Time
}

// load calls the service API at the hosts in turn, and remembers what was answered.
type load struct {
	c      *cluster
	games  []*game
	random *rand.Rand
	number atomic.Int64

	mu         sync.Mutex // guards the fields below
	made       []asked
	placements []string          // acknowledged
	created    map[string]string // acknowledged game sessions, by token
	twice      violations        // a token with two game sessions
	seats      []seat
}

// seat is an acknowledged player session of a game.
type seat struct {
	g  *game
	id string
}

// rates are the calls per second of each kind.
var rates = []struct {
	every time.Duration
	do    func(l *load, ctx context.Context, n int64)
}{
	{500 * time.Millisecond, (*load).create},
	{500 * time.Millisecond, (*load).place},
	{100 * time.Millisecond, (*load).seat},
	{400 * time.Millisecond, (*load).search},
	{time.Second, (*load).login},
	{time.Second, (*load).probe},
}

// run calls until halt is closed and the last answers have come. A call that takes long delays no other.
func (l *load) run(ctx context.Context, halt <-chan struct{}) {
	var all sync.WaitGroup
	for _, rate := range rates {
		all.Go(func() {
			tick := time.NewTicker(rate.every)
			defer tick.Stop()
			for {
				select {
				case <-halt:
					return
				case <-ctx.Done():
					return
				case <-tick.C:
					all.Go(func() { rate.do(l, ctx, l.number.Add(1)) })
				}
			}
		})
	}
	all.Wait()
}

// readyMax bounds the wait until all hosts answer all calls. A busy machine needs some seconds for the first ones.
const readyMax = 30 * time.Second

// ready makes each call at each host until all are answered, and forgets them: a run begins with a cluster that works.
func (l *load) ready(ctx context.Context) error {
	for began := time.Now(); ; {
		l.made, l.placements, l.created, l.seats = nil, nil, map[string]string{}, nil
		round := int64(2 * len(l.c.nodes)) // seat calls a host for two numbers, the others for one
		first := l.number.Add(round) - round
		for _, rate := range rates {
			for n := range round {
				rate.do(l, ctx, first+n)
			}
		}
		i := slices.IndexFunc(l.made, func(a asked) bool { return a.code != codeOK })
		if i < 0 {
			l.made = nil
			return ctx.Err()
		}
		if time.Since(began) > readyMax || ctx.Err() != nil {
			return fmt.Errorf("the cluster is not ready: %s at node-%d: %s", l.made[i].operation, l.made[i].node, l.made[i].code)
		}
	}
}

// errorCode matches the code in the answer of a host.
var errorCode = lazy.Regexp(`"__type":\s*"(?:[^"#]*#)?(\w+)"`)

// codeOf returns the code of an answer.
func codeOf(err error) string {
	if err == nil {
		return codeOK
	}
	answer := new(server.AnswerError)
	if !errors.As(err, &answer) {
		return codeNoAnswer
	}
	if m := errorCode().FindStringSubmatch(answer.Text); m != nil {
		return m[1]
	}
	return fmt.Sprint(answer.Status)
}

// callLimit bounds a call. A call for the leader waits for 8 s, and one for a host that is gone for 3 s.
const callLimit = 15 * time.Second

// at makes one call at a host.
func (l *load) at(ctx context.Context, node int, operation string, in, out any) string {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	began := time.Now()
	code := codeOf(l.c.nodes[node].client().Call(ctx, operation, in, out))
	l.note(asked{operation, code, node, began, time.Now()})
	return code
}

func (l *load) note(a asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, a)
}

// call makes a call at a host, and once more at each other host while there is no answer or InternalServiceException, as
// an SDK behind a load balancer does.
func (l *load) call(ctx context.Context, n int64, operation string, in, out any) (code string) {
	for i := range l.c.nodes {
		node := (int(n) + i) % len(l.c.nodes)
		if code = l.at(ctx, node, operation, in, out); code != codeNoAnswer && code != codeInternal || ctx.Err() != nil {
			return code
		}
	}
	return code
}

func (l *load) create(ctx context.Context, n int64) {
	token := fmt.Sprintf("token-%d", n)
	in := struct {
		FleetId, Name, IdempotencyToken string
		MaximumPlayerSessionCount       int
	}{ownFleet, "made", token, 4}
	var out [2]struct {
		GameSession struct{ GameSessionId string }
	}
	var twice sync.WaitGroup
	if n%4 == 0 { // at two hosts at once
		twice.Go(func() { l.at(ctx, int(n+1)%len(l.c.nodes), "CreateGameSession", in, &out[1]) })
	}
	code := l.call(ctx, n, "CreateGameSession", in, &out[0])
	twice.Wait()
	one, other := out[0].GameSession.GameSessionId, out[1].GameSession.GameSessionId
	l.mu.Lock()
	defer l.mu.Unlock()
	if code == codeOK {
		l.created[token] = one
	}
	if code == codeOK && other != "" && one != other {
		l.twice.add("%s made %s and %s", token, one, other)
	}
}

func (l *load) place(ctx context.Context, n int64) {
	id := fmt.Sprintf("placement-%d", n)
	in := struct {
		PlacementId, GameSessionQueueName string
		MaximumPlayerSessionCount         int
		DesiredPlayerSessions             []calledPlayer
	}{id, "queue-faults", 4, []calledPlayer{{"one"}, {"two"}}}
	if l.at(ctx, int(n)%len(l.c.nodes), "StartGameSessionPlacement", in, new(struct{})) != codeOK {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placements = append(l.placements, id)
}

func (l *load) forgetPlacements() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placements = nil
}

func (l *load) seat(ctx context.Context, n int64) {
	g := l.games[int(n)%len(l.games)]
	in := struct{ GameSessionId, PlayerId string }{g.id, fmt.Sprintf("seat-%d", n)}
	var out struct {
		PlayerSession struct{ PlayerSessionId string }
	}
	if l.at(ctx, int(n/2)%len(l.c.nodes), "CreatePlayerSession", in, &out) != codeOK {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seats = append(l.seats, seat{g, out.PlayerSession.PlayerSessionId})
}

func (l *load) search(ctx context.Context, n int64) {
	in := struct {
		FleetId string
		Limit   int
	}{ownFleet, 10}
	l.at(ctx, int(n)%len(l.c.nodes), "SearchGameSessions", in, new(struct{}))
}

// login logs the player of the newest seat in, and leaves at once.
func (l *load) login(ctx context.Context, _ int64) {
	l.mu.Lock()
	if len(l.seats) == 0 {
		l.mu.Unlock()
		return
	}
	last := l.seats[len(l.seats)-1]
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	a := asked{operation: "login", code: codeOK, node: last.g.node, from: time.Now()}
	addr := l.c.nodes[a.node].process().Announce.WS // a host that was started again has another port
	player, err := client.Dial(ctx, client.Options{Addr: addr, PlayerSessionID: last.id, Transport: client.WS, DialTimeout: callLimit})
	switch {
	case err == nil:
		player.Abort()
	case errors.Is(err, client.ErrGameOver):
		a.code = codeOver
	default:
		a.code = codeNoAnswer
	}
	a.to = time.Now()
	l.note(a)
}

// probe asks a host for its health, as an orchestrator does.
func (l *load) probe(ctx context.Context, n int64) {
	node := int(n) % len(l.c.nodes)
	for _, page := range []string{"/healthz", "/readyz"} {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		a := asked{operation: page, node: node, from: time.Now()}
		a.code = codeOf(l.c.nodes[node].client().Probe(ctx, page))
		a.to = time.Now()
		cancel()
		l.note(a)
	}
}

// table counts the calls by operation and code.
func (l *load) table() (all []Calls) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.made {
		i := slices.IndexFunc(all, func(c Calls) bool { return c.Operation == a.operation && c.Code == a.code })
		if i < 0 {
			i, all = len(all), append(all, Calls{Operation: a.operation, Code: a.code})
		}
		all[i].Count++
		all[i].MaxMs = max(all[i].MaxMs, ms(a.to.Sub(a.from)))
		if l.c.nodes[a.node].under(a.from, a.to, backGrace) {
			all[i].Hurt++
		}
	}
	slices.SortFunc(all, func(a, b Calls) int { return strings.Compare(a.Operation+" "+a.Code, b.Operation+" "+b.Code) })
	return all
}

// told counts the events of all hosts by what they are about and their type. An event that is delivered again has the
// id of the first delivery, and counts once.
type told map[string]map[string]int

// readEvents reads the events that the hosts have written.
func (c *cluster) readEvents() (told, error) {
	all, ids := told{}, map[string]bool{}
	for _, m := range c.nodes {
		f, err := os.Open(m.events)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e struct {
				ID     string
				Detail struct{ Type, PlacementID, GameSessionARN string }
			}
			if json.Unmarshal(lines.Bytes(), &e) != nil || ids[e.ID] {
				continue // a line that a killed host has not completed
			}
			ids[e.ID] = true
			about := e.Detail.PlacementID
			if strings.HasPrefix(e.Detail.Type, "GameSession") {
				about = e.Detail.GameSessionARN
			}
			if all[about] == nil {
				all[about] = map[string]int{}
			}
			all[about][e.Detail.Type]++
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

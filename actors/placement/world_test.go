package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

// standIn replaces the registry. Destinations have the form "fleet/name" or "alias/name".
type standIn struct {
	candidates map[string][]messages.Candidate // by destination
	aliases    map[string]string               // destinations by alias; "" means TERMINAL
	room       map[destination]int             // number of free processes
	activate   time.Duration                   // how long the activation of a game session takes; negative means forever
	broken     map[destination]bool            // game sessions at these destinations end before they are ACTIVE
	noSeats    map[destination]bool
	asked      int // number of requests for candidates
	launches   int
	version    uint64
	watchers   []func(messages.Room, error)
	games      map[messages.GameSessionID]*game
	made       []*game
}

type game struct {
	id     messages.GameSessionID
	at     destination
	notify []func(messages.Activation, error)
	since  time.Time
	active bool
	over   bool
	text   string
	seats  int
}

type (
	do     struct{ f func(*standIn) }
	active struct{ g *game }
)

func (s *standIn) Started(*stage.Context) {}
func (s *standIn) Stopped(*stage.Context) {}

func (s *standIn) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case do:
		m.f(s)
	case stage.Ask:
		switch q := m.Request.(type) {
		case messages.Candidates:
			s.asked++
			stage.As(q, m).Reply(s.resolve(q.Destinations), nil)
		case messages.Launch:
			stage.As(q, m).Reply(s.launch(c, q))
		case messages.CreatePlayerSessions:
			stage.As(q, m).Reply(s.seat(c, q))
		case messages.AwaitRoom:
			if s.watchers = append(s.watchers, stage.As(q, m).Reply); q.Since < s.version {
				s.tellRoom()
			}
		case messages.AwaitActivation:
			if g := s.games[q.ID]; g == nil {
				m.Reply(nil, messages.Errorf(messages.NotFound, "no game session"))
			} else {
				g.notify = append(g.notify, stage.As(q, m).Reply)
				g.tell()
			}
		case messages.GiveUp:
			if g := s.games[q.ID]; g != nil && !g.over {
				g.over, g.text = true, "terminated"
				g.tell()
			}
			m.Reply(messages.None{}, nil)
		}
	case active:
		if g := m.g; !g.over {
			g.active = !s.broken[g.at]
			g.over = !g.active
			g.text = "broken"
			g.tell()
		}
	}
}

// tell answers the requests that wait until the game session is ACTIVE or over.
func (g *game) tell() {
	if g.active || g.over {
		for _, reply := range g.notify {
			reply(messages.Activation{Active: g.active && !g.over, Text: g.text}, nil)
		}
		g.notify = nil
	}
}

func (s *standIn) tellRoom() {
	watchers := s.watchers
	s.watchers = nil
	for _, reply := range watchers {
		reply(messages.Room{Version: s.version}, nil)
	}
}

func (s *standIn) resolve(destinations []string) (list []messages.Candidate) {
	for i, d := range destinations {
		if to, is := s.aliases[d]; is {
			d = to
		}
		for _, c := range s.candidates[d] {
			c.Destination, c.Room = i, s.room[destinationOf(c)] > 0
			list = append(list, c)
		}
	}
	return list
}

func (s *standIn) launch(c *stage.Context, l messages.Launch) (*messages.GameSession, error) {
	s.launches++
	p := destination{l.Request.FleetID, l.Request.Location}
	if s.room[p] <= 0 {
		return nil, messages.Errorf(messages.FleetCapacityExceeded, "no room at %v", p)
	}
	s.room[p]--
	g := &game{id: messages.GameSessionID(fmt.Sprintf("arn:game/%d", len(s.made))), at: p, since: c.Now()}
	s.games[g.id] = g
	s.made = append(s.made, g)
	switch {
	case s.activate == 0:
		c.Self().Tell(active{g})
	case s.activate > 0:
		c.After(s.activate, active{g})
	}
	return &messages.GameSession{ID: g.id, FleetID: p.fleet, Location: p.location, IPAddress: "192.0.2.1", DNSName: "play.example", Port: 1900}, nil
}

func (s *standIn) seat(c *stage.Context, r messages.CreatePlayerSessions) ([]*messages.PlayerSession, error) {
	g := s.games[r.GameSessionID]
	if g == nil || g.over || !g.active || s.noSeats[g.at] {
		return nil, messages.Errorf(messages.InvalidGameSessionStatus, "no seats")
	}
	var made []*messages.PlayerSession
	for _, p := range r.Players {
		g.seats++
		made = append(made, &messages.PlayerSession{ID: messages.PlayerSessionID(fmt.Sprintf("psess-%s-%d", g.id, g.seats)), PlayerID: p.PlayerID, Created: c.Now()})
	}
	return made, nil
}

// world is a Supervisor with a replacement for the registry, in virtual time.
type world struct {
	t        *testing.T
	stage    *stagetest.Stage
	registry *stage.Ref
	parent   *rebuild.Supervisor[*State]
	in       *standIn
	store    *storetest.Disk
	ref      *stage.Ref
	options  Options
	mu       sync.Mutex
	events   []messages.Event
	heard    func(messages.Event)
	start    time.Time
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, stage: stagetest.Start(t, nil), store: new(storetest.Disk), start: time.Now(), in: &standIn{
		candidates: map[string][]messages.Candidate{}, aliases: map[string]string{}, room: map[destination]int{}, broken: map[destination]bool{},
		noSeats: map[destination]bool{}, games: map[messages.GameSessionID]*game{},
	}}
	w.registry = w.stage.Spawn(w.in)
	w.options = Options{Region: "us-east-1", Account: "000000000000", Store: w.store, OnEvent: func(e messages.Event) {
		w.mu.Lock()
		w.events = append(w.events, e)
		heard := w.heard
		w.mu.Unlock()
		if heard != nil {
			heard(e)
		}
	}}
	if change != nil {
		change(&w.options)
	}
	w.open()
	return w
}

// open starts a Supervisor from the contents of the store.
func (w *world) open() {
	w.t.Helper()
	state, err := Load(w.store)
	assert.NoError(w.t, err)
	w.parent = New(w.options, w.registry, state)
	w.ref = w.stage.Spawn(w.parent)
}

// with runs f inside the standIn actor.
func (w *world) with(f func(*standIn)) {
	_, _ = stage.Await(w.t.Context(), func(reply func(int, error)) {
		w.registry.Tell(do{func(s *standIn) { f(s); reply(0, nil) }})
	})
}

// fleets creates destinations from strings as in candidatesOf. They have no room.
func (w *world) fleets(destinations ...string) {
	w.t.Helper()
	w.with(func(s *standIn) {
		for _, c := range candidatesOf(w.t, destinations...) {
			d := "fleet/" + string(c.FleetID)
			s.candidates[d] = append(s.candidates[d], c)
		}
	})
}

// free adds processes at a destination such as "W/us-west-2" and reports the new room.
func (w *world) free(at string, n int) {
	f, l, _ := strings.Cut(at, "/")
	p := destination{messages.FleetID(f), l}
	w.with(func(s *standIn) {
		s.room[p] += n
		s.version++
		s.tellRoom()
	})
}

func request[Q messages.RequestOf[A], A any](w *world, q Q) (A, error) {
	return stage.Await(w.t.Context(), func(reply func(A, error)) { messages.Send(w.ref, q, reply) })
}

func must[A any](t *testing.T, a A, err error) A {
	t.Helper()
	assert.NoError(t, err)
	return a
}

func (w *world) queue(q messages.Queue) *messages.Queue {
	w.t.Helper()
	if q.Name == "" {
		q.Name = "q"
	}
	if q.Timeout == 0 {
		q.Timeout = 120 * time.Second
	}
	made, err := request[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: q})
	return must(w.t, made, err)
}

func (w *world) startPlacement(r messages.StartPlacement) (*messages.Placement, error) {
	if r.Queue == "" {
		r.Queue = "q"
	}
	if r.MaxPlayers == 0 {
		r.MaxPlayers = 10
	}
	return request[messages.StartPlacement, *messages.Placement](w, r)
}

func (w *world) placed(r messages.StartPlacement) *messages.Placement {
	w.t.Helper()
	p, err := w.startPlacement(r)
	return must(w.t, p, err)
}

func (w *world) get(id messages.PlacementID) *messages.Placement {
	w.t.Helper()
	p, err := request[messages.PlacementQuery, *messages.Placement](w, messages.PlacementQuery{ID: id})
	return must(w.t, p, err)
}

func (w *world) cancel(id messages.PlacementID) (*messages.Placement, error) {
	return request[messages.StopPlacement, *messages.Placement](w, messages.StopPlacement{ID: id})
}

func (w *world) drop(name messages.QueueName) error {
	_, err := request[messages.DeleteQueue, stage.None](w, messages.DeleteQueue{Name: name})
	return err
}

// told returns the types of the events of a placement.
func (w *world) told(id messages.PlacementID) (types []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if detailOf(w.t, e)["placementId"] == string(id) {
			types = append(types, e.Type)
		}
	}
	return types
}

func detailOf(t *testing.T, e messages.Event) map[string]any {
	t.Helper()
	var d map[string]any
	assert.NoError(t, json.Unmarshal(e.Detail, &d))
	return d
}

// live returns the game sessions that have not ended.
func (w *world) live() (live []messages.GameSessionID) {
	w.with(func(s *standIn) {
		for _, g := range s.made {
			if !g.over {
				live = append(live, g.id)
			}
		}
	})
	return live
}

func (w *world) want(id messages.PlacementID, status messages.PlacementStatus) *messages.Placement {
	w.t.Helper()
	p := w.get(id)
	if p.Status != status {
		w.t.Fatalf("%s is %s at %v, want %s", id, p.Status, time.Since(w.start), status)
	}
	if told := w.told(id); status.Final() && !slices.Equal(told, []string{eventTypes[status]}) {
		w.t.Fatalf("%s: events %v", id, told)
	}
	return p
}

func code(err error) messages.ErrorCode {
	var e *messages.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func wantCode(t *testing.T, err error, want messages.ErrorCode) {
	t.Helper()
	if code(err) != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

func players(ids ...string) (all []messages.NewPlayer) {
	for _, id := range ids {
		all = append(all, messages.NewPlayer{PlayerID: messages.PlayerID(id)})
	}
	return all
}

package matchmaker

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

// stubPlacer replaces the placements of a host. It keeps its state across restarts of matchmaking.
type stubPlacer struct {
	mu       sync.Mutex
	outcomes []messages.PlacementStatus // results of the next placements; after those, FULFILLED
	hold     bool                       // placements stay PENDING
	refuse   error                      // error of Place
	dead     map[messages.GameSessionID]bool
	started  []messages.StartPlacement
	ended    map[messages.PlacementID]*messages.Placement // a nil entry is PENDING
	awaiting map[messages.PlacementID][]func(PlacedMatch, error)
	games    map[messages.GameSessionID]*stubGame
	full     error  // error of Fill with players
	noData   bool   // Fill refuses matchmaker data without players
	filled   func() // called by the next Fill with players
	fills    int    // calls of Fill with players
}

// set changes the state under the lock.
func (s *stubPlacer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *stubPlacer) Place(r messages.StartPlacement, reply func(PlacedMatch, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.ended[r.ID]
	switch {
	case p != nil:
		go reply(s.placed(p), nil)
	case !known && s.refuse != nil:
		go reply(PlacedMatch{}, s.refuse)
	default:
		s.awaiting[r.ID] = append(s.awaiting[r.ID], reply)
		if !known {
			s.started = append(s.started, r)
			s.ended[r.ID] = nil
			if !s.hold {
				s.end(r)
			}
		}
	}
}

func (s *stubPlacer) placed(p *messages.Placement) PlacedMatch {
	return PlacedMatch{*p, p.Status == messages.PlacementFulfilled && !s.dead[p.GameSessionID]}
}

func (s *stubPlacer) end(r messages.StartPlacement) {
	p := &messages.Placement{Request: r, Status: messages.PlacementFulfilled}
	if len(s.outcomes) > 0 {
		p.Status, s.outcomes = s.outcomes[0], s.outcomes[1:]
	}
	if p.Status == messages.PlacementFulfilled {
		p.GameSessionID, p.IPAddress, p.Port = messages.GameSessionID("arn:game/"+string(r.ID)), "192.0.2.1", 1900
		for _, player := range r.Players {
			p.Placed = append(p.Placed, messages.PlacedPlayer{PlayerID: player.PlayerID, PlayerSessionID: messages.PlayerSessionID("psess-" + player.PlayerID)})
		}
		p.Location = "here"
		s.games[p.GameSessionID] = newStubGame(r)
	}
	s.ended[r.ID] = p
	for _, reply := range s.awaiting[r.ID] {
		go reply(s.placed(p), nil)
	}
	delete(s.awaiting, r.ID)
}

// release ends the placements that are PENDING.
func (s *stubPlacer) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = false
	for _, r := range s.started {
		if s.ended[r.ID] == nil {
			s.end(r)
		}
	}
}

// world is a Supervisor with a stubPlacer, in virtual time.
type world struct {
	*testing.T
	stage   *stagetest.Stage
	store   *storetest.Disk
	placer  *stubPlacer
	ref     *stage.Ref
	parent  *rebuild.Supervisor[*State] // nil if direct is set
	direct  bool                        // run a Manager without a Supervisor
	manager *Manager                    // set if direct is set
	options Options
	mu      sync.Mutex
	events  []messages.Event
	ids     map[string]bool
	start   time.Time
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, change func(*Options), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, stage: stagetest.Start(t, nil), store: new(storetest.Disk), start: time.Now(), ids: map[string]bool{}, placer: &stubPlacer{
			dead: map[messages.GameSessionID]bool{}, games: map[messages.GameSessionID]*stubGame{}, ended: map[messages.PlacementID]*messages.Placement{},
			awaiting: map[messages.PlacementID][]func(PlacedMatch, error){},
		}}
		w.options = Options{Region: "us-east-1", Store: w.store, OnEvent: func(e messages.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}}
		if change != nil {
			change(&w.options)
		}
		w.open()
		defer w.stage.Close()
		f(w)
	})
}

// open starts a Supervisor from the content of the store.
func (w *world) open() {
	w.Helper()
	state := assert.Value(Load(w.store))(w)
	if w.direct {
		w.manager = newManager(w.options.withDefaults(), w.placer, state)
		w.ref = w.stage.Spawn(w.manager)
	} else {
		w.parent = New(w.options, w.placer, state)
		w.ref = w.stage.Spawn(w.parent)
	}
	synctest.Wait()
}

// reopen stops matchmaking as at the end of the process, and starts it again.
func (w *world) reopen() {
	w.Helper()
	w.ref.Stop()
	synctest.Wait()
	w.open()
}

func request[Q messages.RequestOf[A], A any](w *world, q Q) (A, error) {
	return stage.Await(w.Context(), func(reply func(A, error)) { messages.Send(w.ref, q, reply) })
}

const duel = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

func (w *world) ruleSet(name, body string) (*messages.RuleSet, error) {
	return request(w, messages.CreateRuleSet{RuleSet: messages.RuleSet{Name: messages.RuleSetName(name), Body: body}})
}

// config creates a rule set and a configuration, both named m. The rule set is one-on-one and the
// configuration has a queue, unless change changes that.
func (w *world) config(change func(*messages.Matchmaker)) {
	w.Helper()
	w.named("m", duel, change)
}

func (w *world) named(name, body string, change func(*messages.Matchmaker)) {
	w.Helper()
	assert.OK(w.ruleSet(name, body))(w)
	r := messages.Matchmaker{Name: messages.MatchmakerName(name), RuleSet: messages.RuleSetName(name), Queues: []messages.QueueName{"q"}, RequestTimeout: time.Minute}
	if change != nil {
		change(&r)
	}
	assert.OK(request[messages.CreateMatchmaker, *messages.Matchmaker](w, messages.CreateMatchmaker{Matchmaker: r}))(w)
}

func (w *world) try(id, config string, players ...string) (*messages.Ticket, error) {
	r := messages.StartMatchmaking{TicketID: messages.TicketID(id), Matchmaker: messages.MatchmakerName(config)}
	for _, p := range players {
		r.Players = append(r.Players, messages.TicketPlayer{ID: messages.PlayerID(p)})
	}
	return request[messages.StartMatchmaking, *messages.Ticket](w, r)
}

// ask starts a ticket in configuration m. It must be QUEUED at once.
func (w *world) ask(id string, players ...string) {
	w.Helper()
	t, err := w.try(id, "m", players...)
	if err != nil || t.Status != messages.TicketQueued {
		w.Fatal(t, err)
	}
}

func (w *world) stop(id string) error {
	_, err := request[messages.StopMatchmaking, stage.None](w, messages.StopMatchmaking{ID: messages.TicketID(id)})
	return err
}

func (w *world) answer(accept bool, id string, players ...string) error {
	r := messages.AcceptMatch{TicketID: messages.TicketID(id), Accept: accept}
	for _, p := range players {
		r.Players = append(r.Players, messages.PlayerID(p))
	}
	_, err := request[messages.AcceptMatch, stage.None](w, r)
	synctest.Wait()
	return err
}

func (w *world) ticket(id string) *messages.Ticket {
	w.Helper()
	found, err := request[messages.TicketQuery, []*messages.Ticket](w, messages.TicketQuery{IDs: []messages.TicketID{messages.TicketID(id)}})
	if err != nil || len(found) != 1 {
		w.Fatal(id, found, err)
	}
	return found[0]
}

// pass waits until the next pass has ended.
func (w *world) pass() {
	stagetest.Pass(w.options.withDefaults().Interval)
}

// want checks the statuses of tickets. An element is, for example, "T1 PLACING".
func (w *world) want(statuses ...string) {
	w.Helper()
	for _, s := range statuses {
		id, status, _ := strings.Cut(s, " ")
		if t := w.ticket(id); t.Status.String() != status {
			w.Fatalf("after %v %s is %s (%s %s), want %s", time.Since(w.start), id, t.Status, t.Reason, t.Text, status)
		}
	}
}

// told returns the types of a ticket's events, without the prefix Matchmaking.
func (w *world) told(id string) (types []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		var d struct {
			Tickets []struct {
				TicketID string `json:"ticketId"`
			} `json:"tickets"`
			Acceptance string `json:"acceptance"`
		}
		assert.NoError(w, json.Unmarshal(e.Detail, &d))
		for _, t := range d.Tickets {
			if t.TicketID == id {
				types = append(types, strings.TrimPrefix(e.Type, "Matchmaking")+d.Acceptance)
			}
		}
	}
	return types
}

func (w *world) wantTold(id, want string) {
	w.Helper()
	if got := strings.Join(w.told(id), " "); got != want {
		w.Errorf("events of %s: %s, want %s", id, got, want)
	}
}

// detail returns the content of the last event of a type.
func (w *world) detail(typ string) map[string]any {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	i := len(w.events) - 1
	for ; i >= 0 && w.events[i].Type != typ; i-- {
	}
	if i < 0 {
		w.Fatalf("there is no %s", typ)
	}
	var d map[string]any
	assert.NoError(w, json.Unmarshal(w.events[i].Detail, &d))
	return d
}

func (w *world) wantCode(err error, want messages.ErrorCode) {
	w.Helper()
	if !errors.Is(err, &messages.Error{Code: want}) {
		w.Errorf("got %v, want %s", err, want)
	}
}

// clean checks that the Manager has only ended tickets left. It also checks that event IDs increase in the
// order of the events, because a sink that lags behind reads events by ID.
func (w *world) clean() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 1; i < len(w.events); i++ {
		if a, b := w.events[i-1], w.events[i]; a.ID >= b.ID {
			w.Errorf("%s comes before %s, and its id %s after %s", a.Type, b.Type, a.ID, b.ID)
		}
	}
	for kind, most := range map[store.Kind]int{store.Match: 0} {
		n := 0
		if _, err := w.store.Load(kind, func(string, []byte) error { n++; return nil }); err != nil || n > most {
			w.Errorf("%d records of %s are left, %v", n, kind, err)
		}
	}
}

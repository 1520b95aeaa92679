package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"troupe/actors"
	"troupe/actors/fault"
	"troupe/messages"
)

// serviceFleet and serviceQueue are used by the callers of the service API.
const (
	serviceFleet messages.FleetID   = "fleet-service"
	serviceQueue messages.QueueName = "queue-service"
	serviceGames                    = 4 // maximum number of game sessions of the fleet
	seatsMax                        = 3
	queueTimeout                    = 10 * time.Second
	callersMax                      = 3
)

// service has the callers of the service API, and all responses that they got. The run's lock guards it.
// Responses after the death of the process are ignored.
type service struct {
	*run
	disk    *disk
	callers sync.WaitGroup
	over    bool

	names      map[string]bool // names of requested game sessions; false if the last response was an error
	games      map[messages.GameSessionID]*madeGame
	seats      map[messages.PlayerSessionID]messages.GameSessionID
	refused    map[messages.PlayerID]bool // players whose reservations were refused
	placements map[messages.PlacementID]*messages.Placement
}

type madeGame struct {
	name       string
	terminated bool
}

func newService(r *run) *service {
	return &service{run: r, disk: newDisk(r.plan.seed), names: make(map[string]bool), games: make(map[messages.GameSessionID]*madeGame),
		seats: make(map[messages.PlayerSessionID]messages.GameSessionID), refused: make(map[messages.PlayerID]bool),
		placements: make(map[messages.PlacementID]*messages.Placement)}
}

// options configures the host with the disk, and with a fleet and a queue for the callers.
func (s *service) options(o *actors.Options) {
	o.Fleet.Store = s.disk
	o.Fleet.Fleets = append(o.Fleet.Fleets, &messages.Fleet{ID: serviceFleet, Status: messages.FleetActive, Locations: []string{"sim-1"}, GameSessionsMax: serviceGames})
	o.Placement.Queues = []*messages.Queue{{Name: serviceQueue, Timeout: queueTimeout, Destinations: []string{"fleet/" + string(serviceFleet)}}}
}

// begin starts the callers, and schedules the disk's failures.
func (s *service) begin() {
	p := s.plan
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sick := range p.sick {
		s.later(sick.from, func() { s.disk.set(func() { s.disk.sick = true }) })
		s.later(sick.to, func() { s.disk.set(func() { s.disk.sick = false }) })
	}
	s.disk.set(func() { s.disk.point, s.disk.hits = p.diesAt, p.diesIn })
	for i := range callersMax {
		s.callers.Go(func() { s.call(i, s.system) })
	}
}

// end lets the callers finish their current calls, and waits for that.
func (s *service) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.callers.Wait()
}

// call runs one caller.
func (s *service) call(number int, system *actors.System) {
	r := rand.New(rand.NewPCG(s.plan.seed, uint64(0x7434+number)))
	for n := 0; ; n++ {
		time.Sleep(time.Duration(1+r.IntN(400)) * time.Millisecond)
		s.mu.Lock()
		over := s.over || s.disk.isDead()
		s.mu.Unlock()
		if over {
			return
		}
		name := fmt.Sprintf("%d-%d", number, n)
		switch r.IntN(8) {
		case 0, 1:
			s.create(system, name, r)
		case 2, 3, 4:
			s.reserve(system, name, r)
		case 5, 6:
			s.place(system, name, r)
		default:
			s.terminate(system, r)
		}
	}
}

// heard records a response, unless the process had died before.
func (s *service) heard(what string, err error, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disk.isDead() {
		return
	}
	if err != nil {
		what += " refused"
	}
	s.seen[what]++
	do()
}

// create repeats a refused call. Because of the token, the repetition creates no second game session.
func (s *service) create(system *actors.System, name string, r *rand.Rand) {
	token := "token-" + name
	var first messages.GameSessionID
	for range 1 + r.IntN(2) {
		g, err := messages.Do(context.Background(), system, messages.CreateGameSession{
			FleetID: serviceFleet, Name: name, MaxPlayers: seatsMax, IdempotencyToken: token})
		s.heard("create", err, func() {
			s.names[name] = err == nil || first != ""
			if err != nil {
				return
			}
			if first != "" && g.ID != first {
				s.failf("RL-20: a second call with the token of game session %s makes %s", first, g.ID)
			}
			if first = g.ID; s.games[g.ID] == nil {
				s.games[g.ID] = &madeGame{name: name}
			}
		})
	}
}

// game returns a random game session that callers have created, or "" if there is none.
func (s *service) game(r *rand.Rand) messages.GameSessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []messages.GameSessionID
	for id, g := range s.games {
		if !g.terminated || r.IntN(8) == 0 {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return all[r.IntN(len(all))]
}

func (s *service) reserve(system *actors.System, name string, r *rand.Rand) {
	id := s.game(r)
	if id == "" {
		return
	}
	var who []messages.NewPlayer
	for i := range 1 + r.IntN(2) {
		who = append(who, messages.NewPlayer{PlayerID: messages.PlayerID(fmt.Sprintf("%s-%d", name, i))})
	}
	seats, err := messages.Do(context.Background(), system, messages.CreatePlayerSessions{GameSessionID: id, Players: who})
	s.heard("reserve", err, func() {
		for _, p := range who {
			s.refused[p.PlayerID] = err != nil
		}
		for _, seat := range seats {
			s.seats[seat.ID] = id
		}
	})
}

func (s *service) place(system *actors.System, name string, r *rand.Rand) {
	q := messages.StartPlacement{ID: messages.PlacementID("placement-" + name), Queue: serviceQueue, MaxPlayers: seatsMax, Name: "placed-" + name}
	for i := range r.IntN(3) {
		q.Players = append(q.Players, messages.NewPlayer{PlayerID: messages.PlayerID(fmt.Sprintf("placed-%s-%d", name, i))})
	}
	p, err := messages.Do(context.Background(), system, q)
	s.heard("place", err, func() {
		if err == nil {
			s.placements[q.ID] = p
		}
	})
	if err != nil {
		return
	}
	time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
	var read messages.RequestOf[*messages.Placement] = messages.PlacementQuery{ID: q.ID}
	if r.IntN(6) == 0 {
		read = messages.StopPlacement{ID: q.ID}
	}
	p, err = messages.Do(context.Background(), system, read)
	s.heard("read placement", err, func() {
		if err == nil {
			s.told(p)
		}
	})
}

// told compares a placement with earlier responses about it: a final status does not change (RL-19).
func (s *service) told(p *messages.Placement) {
	id := p.Request.ID
	old := s.placements[id]
	if old.Status.Final() && (old.Status != p.Status || old.GameSessionID != p.GameSessionID || !slices.Equal(old.Placed, p.Placed)) {
		s.failf("RL-19: %s was %v with %s, and is %v with %s", id, old.Status, old.GameSessionID, p.Status, p.GameSessionID)
	}
	s.placements[id] = p
	if p.Status != messages.PlacementFulfilled {
		return
	}
	s.seen["fulfilled"]++
	if s.games[p.GameSessionID] == nil {
		s.games[p.GameSessionID] = &madeGame{name: p.Request.Name}
	}
	for _, seat := range p.Placed {
		s.seats[seat.PlayerSessionID] = p.GameSessionID
	}
	if len(p.Placed) != len(p.Request.Players) {
		s.failf("RL-20: %s is FULFILLED with %d seats of %d", id, len(p.Placed), len(p.Request.Players))
	}
}

func (s *service) terminate(system *actors.System, r *rand.Rand) {
	id := s.game(r)
	if id == "" {
		return
	}
	_, err := messages.Do(context.Background(), system, messages.TerminateGameSession{GameSessionID: id, Force: r.IntN(2) == 0})
	s.heard("terminate", err, func() {
		if err == nil {
			s.games[id].terminated = true
		}
	})
}

// awaitPlacements waits until all placements have ended, but at most as long as RL-19 allows.
func (s *service) awaitPlacements() {
	limit := time.Now().Add(queueTimeout + 5*time.Second)
	s.mu.Lock()
	ids := make([]messages.PlacementID, 0, len(s.placements))
	for id := range s.placements {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		for {
			p, err := messages.Do(context.Background(), s.system, messages.PlacementQuery{ID: id})
			s.mu.Lock()
			late := time.Now().After(limit)
			switch {
			case err != nil:
				s.failf("RL-18: %s was answered, and now: %v", id, err)
			case late && !p.Status.Final():
				s.failf("RL-19: %s is still %v", id, p.Status)
			case p.Status.Final():
				s.told(p)
			}
			s.mu.Unlock()
			if late || err != nil || p.Status.Final() {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// check compares the state of the host with the responses: everything acknowledged exists, nothing refused
// exists, and each player session is counted once (RL-15, RL-18). After a restart, all game sessions of the
// previous process have ended (RL-114).
func (s *service) check(restarted bool) {
	ctx := context.Background()
	list := sure(messages.Do(ctx, s.system, messages.FindGameSessions{FleetID: serviceFleet})).GameSessions
	s.mu.Lock()
	defer s.mu.Unlock()
	byID := make(map[messages.GameSessionID]*messages.GameSession)
	named := make(map[string]int)
	for _, g := range list {
		byID[g.ID] = g
		named[g.Name]++
		if ok, asked := s.names[g.Name]; asked && !ok {
			s.failf("RL-18: game session %q was refused, and is %v", g.Name, g.Status)
		}
		if g.Status == messages.GameSessionActive && s.games[g.ID] == nil && !restarted {
			s.failf("RL-20: game session %q is ACTIVE, and nobody was told of it", g.Name)
		}
	}
	for id, made := range s.games {
		g := byID[id]
		switch {
		case g == nil || g.Name != made.name:
			s.failf("RL-18: game session %q was answered, and is gone", made.name)
			continue
		case restarted && g.Status != messages.GameSessionTerminated:
			s.failf("RL-16: game session %q is %v after a restart", g.Name, g.Status)
		case made.terminated && g.Status < messages.GameSessionTerminating:
			s.failf("RL-16: game session %q was terminated, and is %v", made.name, g.Status)
		}
		s.checkSeats(ctx, g)
	}
}

// fill reserves all player sessions that should still be free.
func (s *service) fill() {
	for _, g := range sure(messages.Do(context.Background(), s.system, messages.FindGameSessions{FleetID: serviceFleet, Status: messages.GameSessionActive})).GameSessions {
		who := make([]messages.NewPlayer, g.MaxPlayers-g.CurrentPlayers)
		for i := range who {
			who[i].PlayerID = messages.PlayerID(fmt.Sprintf("last-%d", i))
		}
		if len(who) == 0 {
			continue
		}
		seats, err := messages.Do(context.Background(), s.system, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: who})
		s.mu.Lock()
		if err != nil {
			s.failf("RL-15: game session %q counts %d players of %d, and refuses %d more: %v", g.Name, g.CurrentPlayers, g.MaxPlayers, len(who), err)
		}
		for _, seat := range seats {
			s.seats[seat.ID] = g.ID
		}
		s.mu.Unlock()
	}
}

func (s *service) checkSeats(ctx context.Context, g *messages.GameSession) {
	list := sure(messages.Do(ctx, s.system, messages.PlayerSessionQuery{GameSessionID: g.ID}))
	there, live := make(map[messages.PlayerSessionID]bool), 0
	for _, seat := range list {
		if there[seat.ID] {
			s.failf("RL-15: player session %s is there twice", seat.ID.Short())
		}
		there[seat.ID] = true
		if !seat.Status.Final() {
			live++
		}
		if s.refused[seat.PlayerID] {
			s.failf("RL-18: the seat of %s was refused, and is %v", seat.PlayerID, seat.Status)
		}
	}
	if g.CurrentPlayers != live || live > g.MaxPlayers {
		s.failf("RL-15: game session %q counts %d players of %d, %d player sessions are not final", g.Name, g.CurrentPlayers, g.MaxPlayers, live)
	}
	for id, in := range s.seats {
		if in == g.ID && !there[id] {
			s.failf("RL-18: player session %s of %q was answered, and is gone", id.Short(), g.Name)
		}
	}
}

// restart starts another process with the data on the disk, and stops it.
func (s *service) restart() {
	s.disk.restarted()
	s.startHost()
	time.Sleep(time.Second)
	s.check(true)
	s.mu.Lock()
	for _, p := range s.players { // the previous process hosted their games (reliability.md 2.9)
		p.anew()
		p.dev.dial()
	}
	s.mu.Unlock()
	time.Sleep(3 * time.Second)
	s.mu.Lock()
	for _, p := range s.players {
		l := p.dev.link
		if last := p.all[len(p.all)-1]; l != nil || !last.refused || !last.ended {
			s.failf("RL-11: after a restart, %v is refused: %v, and its connection closed: %v", p, last.refused, last.ended)
		}
	}
	s.mu.Unlock()
	s.awaitPlacements()
	for _, p := range s.players {
		list, err := messages.Do(context.Background(), s.system, messages.PlayerSessionQuery{PlayerSessionID: p.id})
		s.mu.Lock()
		if err != nil || !list[0].Status.Final() {
			s.failf("RL-18: after a restart, the seat of %v is %v, %v", p, list, err)
		}
		s.mu.Unlock()
	}
	_, err := messages.Do(context.Background(), s.system, messages.CreateGameSession{FleetID: serviceFleet, MaxPlayers: 1})
	s.mu.Lock()
	if err != nil && !errors.Is(err, &messages.Error{Code: messages.FleetCapacityExceeded}) {
		s.failf("RL-21: no game session can be made after a restart: %v", err)
	}
	s.seen["restart"]++
	if s.plan.diesAt != "" {
		s.seen["death"]++
	}
	s.seen["store failed"] += s.disk.failed
	s.mu.Unlock()
	s.stopHost()
}

// diesAt are the failpoints at which a process may die.
var diesAt = []string{fault.StoreWrite, fault.StoreCommit, fault.StoreCommitted, fault.StoreAnswered}

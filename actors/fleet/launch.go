package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"troupe/actors/stage"
	"troupe/messages"
)

// What placements ask of the registry.
type (
	// Launch starts a game session for a placement, at a fleet and location with room;
	// FleetCapacityExceeded if there is none. It is asked by stage.Request[Launch,
	// *messages.GameSession] and answered once the ACTIVATING game session is durable.
	// Request names the fleet and location; its IdempotencyToken is empty, and the tail
	// of the id is a bare UUID (D-234).
	Launch struct {
		Request        messages.CreateGameSession
		MatchmakerData string
		// Notify is told Launched, once.
		Notify *stage.Ref
	}
	// Launched says what became of a Launch: the game session is ACTIVE, or has ended
	// before it was.
	Launched struct {
		ID     messages.GameSessionID
		Active bool
		Text   string // why it ended
	}
	// Candidates resolves the destinations of a queue as they are now (service-api.md
	// 3.1), asked by stage.Request[Candidates, []Candidate]. Aliases that are TERMINAL, and
	// fleets that are unknown or not ACTIVE, are left out.
	Candidates struct {
		Destinations []string // ARNs
	}
	// Candidate is a fleet and location that a placement may try.
	Candidate struct {
		Destination  int // index in Destinations: the lowest that leads here
		FleetID      messages.FleetID
		Location     string
		Cost         float64 // per hour
		Room         bool
		Certificates bool
	}
	// WatchRoom has the registry tell Notify RoomFor whenever a process of a fleet
	// location becomes free or a fleet ACTIVE.
	WatchRoom struct{ Notify *stage.Ref }
	// RoomFor says that a game session may now fit there.
	RoomFor struct {
		FleetID  messages.FleetID
		Location string
	}
)

func (gs *games) onLaunch(m stage.Request[Launch, *messages.GameSession]) {
	e, err := gs.launch(m.Request)
	gs.answerCreated(e, err, m.Reply)
}

func (gs *games) launch(l Launch) (*entry, error) {
	f, location, err := gs.admit(&l.Request)
	if err != nil {
		return nil, err
	}
	l.Request.IdempotencyToken = ""
	e, err := gs.start(sessionSpec{fleet: f, location: location, request: l.Request, tail: uuid.NewString(), matchmaker: l.MatchmakerData})
	if err != nil {
		return nil, err
	}
	e.notify = l.Notify
	return e, nil
}

// tellLaunched sends Launched to the actor that launched a game session, after the answer
// to Launch.
func (gs *games) tellLaunched(e *entry) {
	if e.notify == nil || e.storage == unstored {
		return
	}
	g := e.published.Session()
	if e.phase != phaseOver && g.Status < messages.GameSessionActive {
		return
	}
	e.notify.Tell(Launched{ID: e.id, Active: e.phase != phaseOver && g.Status == messages.GameSessionActive, Text: g.EndText})
	e.notify = nil
}

// candidates resolves destinations; of those that lead to the same fleet and location
// the first counts. The error says why none takes placements, and none is about to.
func (gs *games) candidates(destinations []string) (found []Candidate, err error) {
	gs.forgetEnded()
	seen, open := make(map[messages.FleetID]bool), false
	for i, arn := range destinations {
		f, closed := gs.destination(arn)
		if closed != nil {
			err = cmp.Or(err, closed)
			continue
		}
		open = true
		if f.Status != messages.FleetActive || seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		for _, location := range f.Locations {
			found = append(found, Candidate{
				Destination: i, FleetID: f.ID, Location: location, Cost: gs.catalog.Cost(f, location),
				Room: gs.room(f, location) == nil, Certificates: f.Certificates,
			})
		}
	}
	if open {
		err = nil
	}
	return found, err
}

// destination is the fleet, ACTIVE or about to be, that the ARN of a fleet or an alias leads to.
func (gs *games) destination(arn string) (*messages.Fleet, error) {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	var fleet messages.FleetID
	var alias messages.AliasID
	if strings.HasPrefix(id, "alias-") {
		alias = messages.AliasID(id)
	} else {
		fleet = messages.FleetID(id)
	}
	f, err := gs.catalog.Resolve(fleet, alias)
	if err == nil && f.Status > messages.FleetActive {
		err = notActive(f)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tellFreed tells of a place that has become free: to the fleet's own waiters, and where
// the location is bounded for all fleets together, to those of all.
func (gs *games) tellFreed(e *entry) {
	if len(gs.watchers) == 0 {
		return
	}
	if gs.catalog.Location(e.location).GameSessionsMax <= 0 {
		gs.tellRoom(gs.catalog.Fleet(e.fleet.id), e.location)
		return
	}
	gs.catalog.Each(func(f *messages.Fleet) {
		if slices.Contains(f.Locations, e.location) {
			gs.tellRoom(f, e.location)
		}
	})
}

// tellRoom tells the watchers that a fleet may have room at a location, or, if that is empty, at
// any of its locations.
func (gs *games) tellRoom(f *messages.Fleet, location string) {
	if len(gs.watchers) == 0 || f.Status != messages.FleetActive {
		return
	}
	locations := f.Locations
	if location != "" {
		locations = []string{location}
	}
	for _, l := range locations {
		gs.watchers = slices.DeleteFunc(gs.watchers, func(w *stage.Ref) bool { return !w.Tell(RoomFor{f.ID, l}) })
	}
}

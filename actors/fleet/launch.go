package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"troupe/actors/stage"
	"troupe/messages"
)

// Requests of placements to the registry.
type (
	// Launch starts a game session for a placement. It is answered once the ACTIVATING game session
	// is durable, or with FleetCapacityExceeded if the location has no room. Request names the fleet and
	// location; its IdempotencyToken is empty, and the id ends with a bare UUID (D-234).
	Launch struct {
		messages.ToThisHost[*messages.GameSession]
		Request        messages.CreateGameSession
		MatchmakerData string
		// Notify receives Launched, once.
		Notify *stage.Ref
	}
	// Launched is the outcome of a Launch: the game session is ACTIVE, or has ended before
	// it became so.
	Launched struct {
		ID     messages.GameSessionID
		Active bool
		Text   string // why it ended
	}
	// Candidates resolves the destinations of a queue as they are now (service-api.md
	// 3.1). The answer leaves out TERMINAL aliases, and fleets that are unknown or not ACTIVE.
	Candidates struct {
		messages.ToThisHost[[]Candidate]
		Destinations []string // ARNs
	}
	// Candidate is a fleet and location that a placement may try.
	Candidate struct {
		Destination  int // the lowest index in Destinations that resolves to this fleet
		FleetID      messages.FleetID
		Location     string
		Cost         float64 // per hour
		Room         bool
		Certificates bool
	}
	// WatchRoom makes the registry send RoomFor to Notify whenever a process becomes free
	// or a fleet becomes ACTIVE.
	WatchRoom struct{ Notify *stage.Ref }
	// RoomFor says that a fleet may have room for a game session in a location.
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
	active := e.phase != phaseOver && g.Status == messages.GameSessionActive
	e.notify.Tell(Launched{ID: e.id, Active: active, Text: g.EndText})
	e.notify = nil
}

// candidates resolves destinations; of those that resolve to the same fleet and location, the
// first one counts. The error says why none accepts placements now or soon.
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

// destination resolves the ARN of a fleet or an alias to a fleet that is ACTIVE or about to be.
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
		err = gs.notActive(f)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tellFreed sends RoomFor after a game session has ended: for its fleet, or, if its location has a
// bound for all fleets together, for all fleets in it.
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

// tellRoom sends RoomFor to the watchers: for one location of a fleet, or, if location is empty,
// for all.
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

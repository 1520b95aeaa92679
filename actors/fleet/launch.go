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

func (r *Registry) onLaunch(c *stage.Context, m stage.Request[Launch, *messages.GameSession]) {
	e, err := r.launch(c, m.Request)
	r.answerCreated(e, err, m.Reply)
}

func (r *Registry) launch(c *stage.Context, l Launch) (*entry, error) {
	f, location, err := r.admit(c, l.Request)
	if err != nil {
		return nil, err
	}
	l.Request.IdempotencyToken = ""
	e, err := r.start(c, sessionSpec{fleet: f, location: location, request: l.Request, tail: uuid.NewString(), matchmaker: l.MatchmakerData})
	if err != nil {
		return nil, err
	}
	e.notify = l.Notify
	return e, nil
}

// tellLaunched tells who launched a game session what became of it, behind the
// answer to Launch.
func (r *Registry) tellLaunched(e *entry) {
	if e.notify == nil || !e.stored {
		return
	}
	g := e.published.Session()
	if !e.over && g.Status < messages.GameSessionActive {
		return
	}
	e.notify.Tell(Launched{ID: e.id, Active: !e.over && g.Status == messages.GameSessionActive, Text: g.EndText})
	e.notify = nil
}

// candidates resolves destinations; of those that lead to the same fleet and location
// the first counts. The error says why none takes placements, and none is about to.
func (r *Registry) candidates(c *stage.Context, destinations []string) (found []Candidate, err error) {
	r.forgetOld(c)
	seen, open := make(map[messages.FleetID]bool), false
	for i, arn := range destinations {
		f, closed := r.destination(arn)
		if closed != nil {
			err = cmp.Or(err, closed)
			continue
		}
		open = true
		if f.record.Status != messages.FleetActive || seen[f.record.ID] {
			continue
		}
		seen[f.record.ID] = true
		for _, location := range f.record.Locations {
			found = append(found, Candidate{
				Destination: i, FleetID: f.record.ID, Location: location, Cost: r.cost(f, location),
				Room: r.room(f, location) == nil, Certificates: f.record.Certificates,
			})
		}
	}
	if open {
		err = nil
	}
	return found, err
}

// destination is the fleet, ACTIVE or about to be, that the ARN of a fleet or an alias leads to.
func (r *Registry) destination(arn string) (*fleetEntry, error) {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	var fleet messages.FleetID
	var alias messages.AliasID
	if strings.HasPrefix(id, "alias-") {
		alias = messages.AliasID(id)
	} else {
		fleet = messages.FleetID(id)
	}
	f, err := r.resolve(fleet, alias)
	if err == nil && f.record.Status > messages.FleetActive {
		err = notActive(f.record)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tellFreed tells of a place that has become free: to the fleet's own waiters, and where
// the location is bounded for all fleets together, to those of all.
func (r *Registry) tellFreed(e *entry) {
	if len(r.watchers) == 0 {
		return
	}
	r.tellRoom(e.fleet, e.location)
	if r.locations[e.location].GameSessionsMax <= 0 {
		return
	}
	for _, f := range r.fleets {
		if f != e.fleet && slices.Contains(f.record.Locations, e.location) {
			r.tellRoom(f, e.location)
		}
	}
}

// tellRoom tells those who watch that a game session may fit at a location, or, if that
// is empty, at any of the fleet.
func (r *Registry) tellRoom(f *fleetEntry, location string) {
	if len(r.watchers) == 0 || f.record.Status != messages.FleetActive {
		return
	}
	locations := f.record.Locations
	if location != "" {
		locations = []string{location}
	}
	for _, l := range locations {
		r.watchers = slices.DeleteFunc(r.watchers, func(w *stage.Ref) bool { return !w.Tell(RoomFor{f.record.ID, l}) })
	}
}

package fleet

import (
	"cmp"
	"strings"

	"troupe/actors/stage"
	"troupe/messages"
)

func (gs *games) onLaunch(m stage.Request[messages.Launch, *messages.GameSession]) {
	e, err := gs.launch(m.Request)
	gs.answerCreated(e, err, m.Reply)
}

func (gs *games) launch(l messages.Launch) (*entry, error) {
	f, location, err := gs.admit(&l.Request)
	if err != nil {
		return nil, err
	}
	tail := l.Request.Tail
	l.Request.IdempotencyToken, l.Request.Tail = "", ""
	return gs.start(f, location, l.Request, tail, l.MatchmakerData)
}

func (gs *games) onAwaitActivation(m stage.Request[messages.AwaitActivation, messages.Activation]) {
	e := gs.known(m.Request.ID)
	if e == nil {
		m.Reply(messages.Activation{}, notFound(m.Request.ID))
		return
	}
	e.activation = append(e.activation, m.Reply)
	e.tellActivation()
}

// tellActivation answers the pending AwaitActivation requests if the game session is ACTIVE or over.
func (e *entry) tellActivation() {
	if len(e.activation) == 0 || e.storage == unstored {
		return
	}
	g := e.published.Session()
	if e.phase != phaseOver && g.Status < messages.GameSessionActive {
		return
	}
	for _, reply := range e.activation {
		reply(messages.Activation{Active: e.phase != phaseOver && g.Status == messages.GameSessionActive, Text: g.EndText}, nil)
	}
	e.activation = nil
}

// candidates resolves destinations to fleets. If several destinations lead to the same fleet, only the first is used.
// It returns an error if no destination can be used now or soon.
func (gs *games) candidates(destinations []string) (found []messages.Candidate, err error) {
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
			found = append(found, messages.Candidate{
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

// destination resolves the ARN of a fleet or an alias to a fleet that is ACTIVE or may become ACTIVE.
func (gs *games) destination(arn string) (*messages.Fleet, error) {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	alias := messages.AliasID(id)
	if !strings.HasPrefix(id, "alias-") {
		alias = ""
	}
	f, err := gs.catalog.Resolve(messages.FleetID(id), alias)
	if err == nil && f.Status > messages.FleetActive {
		err = gs.notActive(f)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// roomNews counts the times at which room may have become free, and holds the requests that wait for the next time.
type roomNews struct {
	version uint64
	waiting []func(messages.Room, error)
}

func (gs *games) onAwaitRoom(m stage.Request[messages.AwaitRoom, messages.Room]) {
	if m.Request.Since != gs.news.version { // also true if Since comes from an earlier process with a higher version
		m.Reply(messages.Room{Version: gs.news.version}, nil)
		return
	}
	gs.news.waiting = append(gs.news.waiting, m.Reply)
}

// tellRoom reports that a fleet may have more room for game sessions. The fleet of a restored game session may be gone: f
// is nil then.
func (gs *games) tellRoom(f *messages.Fleet) {
	if f != nil && f.Status == messages.FleetActive {
		gs.news.tell()
	}
}

func (n *roomNews) tell() {
	n.version++
	waiting := n.waiting
	n.waiting = nil
	for _, reply := range waiting {
		reply(messages.Room{Version: n.version}, nil)
	}
}

// tellFreed reports that a game session has ended. If its location has a limit for all fleets together, this may also
// free room for other fleets.
func (gs *games) tellFreed(e *entry) {
	if gs.catalog.Location(e.location).GameSessionsMax > 0 {
		gs.news.tell()
	} else {
		gs.tellRoom(gs.catalog.Fleet(e.fleet.id))
	}
}

package fleet

import (
	"troupe/actors/fleet/catalog"
	"troupe/messages"
)

// fleetGames counts the game sessions of a fleet by location. hosting counts them by process configuration.
type fleetGames struct {
	id         messages.FleetID
	live       map[string]int // number of game sessions that have not ended, by location
	activating map[string]int // number of game sessions in phaseActivating, by location
	shown      shown
}

// fleetOf returns the fleetGames of a fleet. It creates an empty one if necessary.
func (gs *games) fleetOf(id messages.FleetID) *fleetGames {
	f := gs.fleets[id]
	if f == nil {
		f = &fleetGames{id: id, live: make(map[string]int), activating: make(map[string]int)}
		gs.fleets[id] = f
	}
	return f
}

// hosted returns the number of game sessions of a fleet that have not ended.
func (f *fleetGames) hosted() (n int) {
	for _, c := range f.live {
		n += c
	}
	return n
}

func (gs *games) occupy(e *entry, by int) {
	gs.live[e.location] += by
	e.fleet.live[e.location] += by
	if e.process != nil {
		gs.hosting.Occupy(e.process, by)
	}
}

// room returns nil if a fleet has room for one more game session in a location. Otherwise the error says why it has no
// room.
func (gs *games) room(f *messages.Fleet, location string) error {
	id, own := f.ID, gs.fleetOf(f.ID)
	if f.OnProcesses() && gs.freeServer(id, location) == nil {
		return full("no server process of fleet %s is ready in %s", id, location)
	}
	if most := catalog.Capacity(f, location); !f.Anywhere && own.live[location] >= most {
		return full("fleet %s hosts its maximum of %d game sessions in %s", id, most, location)
	}
	if most := gs.catalog.Location(location).GameSessionsMax; most > 0 && gs.live[location] >= most {
		return full("location %s hosts its maximum of %d game sessions", location, most)
	}
	if f.Anywhere {
		return nil
	}
	if most := f.Runtime.ActivatingMax * f.GroupsIn(location).Desired; most > 0 && own.activating[location] >= most {
		return full("fleet %s activates its maximum of %d game sessions at a time in %s", id, most, location)
	}
	if f.ScriptID != "" && !gs.hosting.HasFree(id, location) {
		if err := gs.hosting.Refused(id); err != nil {
			return err
		}
		return full("fleet %s has no process that is free in %s", id, location)
	}
	return nil
}

// rooms returns the free room of each fleet in each location. It returns no room where not even one more game session
// can be created.
func (gs *games) rooms() []messages.FleetRoom {
	var all []messages.FleetRoom
	for _, f := range gs.catalog.Fleets() {
		for _, location := range f.Locations {
			if len(all) == messages.FleetRoomMax {
				return all
			}
			r := messages.FleetRoom{FleetID: f.ID, Location: location, GameSessions: gs.fleetOf(f.ID).live[location]}
			free := len(gs.servers.free[serverPlace{f.ID, location}])
			if f.Anywhere && free+r.GameSessions == 0 { // none of its processes is connected to this host
				continue
			}
			r.Closed = !f.Anywhere && f.GroupsIn(location).Desired == 0 || f.Status == messages.FleetDeleting || f.Status == messages.FleetTerminated
			if f.Status == messages.FleetActive && gs.room(f, location) == nil {
				if r.Free = catalog.Capacity(f, location) - r.GameSessions; f.OnProcesses() {
					r.Free = free
				}
				if most := gs.catalog.Location(location).GameSessionsMax; most > 0 {
					r.Free = min(r.Free, most-gs.live[location])
				}
			}
			all = append(all, r)
		}
	}
	return all
}

func full(format string, args ...any) error {
	return messages.Errorf(messages.FleetCapacityExceeded, format, args...)
}

// activated records that a game session is no longer ACTIVATING.
func (gs *games) activated(e *entry) {
	if e.phase == phaseActivating {
		e.phase = phaseRunning
		e.fleet.activating[e.location]--
		e.overdue.Stop()
		e.overdue = nil
	}
}

package fleet

import (
	"troupe/messages"
)

// The registry counts game sessions per fleet and location, and per process entry and
// location. A process entry stands for so many processes in each location; which of
// them are idle is known for all locations together, since a process gets its location
// with its game session.

func newFleetEntry(record *messages.Fleet) *fleetEntry {
	return &fleetEntry{record: record, live: make(map[string]int), activating: make(map[string]int)}
}

// hosted counts the game sessions of a fleet that have not ended.
func (f *fleetEntry) hosted() int { return sum(f.live) }

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// occupy counts a new game session, by as of its process, if it has one.
func (r *Registry) occupy(e *entry, by int) {
	e.activates(by > 0)
	r.live[e.location] += by
	e.fleet.live[e.location] += by
	switch {
	case e.process == nil:
	case by > 0:
		r.hosting.Occupy(e.process)
	default:
		r.hosting.Vacate(e.process)
	}
}

// capacity is how many game sessions a fleet may host in a location, whatever others
// host there.
func (f *fleetEntry) capacity(location string) int {
	groups := f.record.GroupsIn(location).Desired
	switch {
	case f.record.Anywhere:
		return 0 // no process has registered: nothing here takes them
	case f.record.ScriptID == "":
		return groups * f.record.GameSessionsMax
	}
	n := concurrent(f.record.Runtime)
	if most := f.record.GameSessionsMax; most > 0 {
		n = min(n, most)
	}
	return groups * n
}

// concurrent is how many processes one process group has.
func concurrent(c messages.RuntimeConfiguration) (sum int) {
	for _, p := range c.Processes {
		sum += p.Concurrent
	}
	return sum
}

// room returns nil where a fleet can take one more game session in one of its
// locations, else why it cannot.
func (r *Registry) room(f *fleetEntry, location string) error {
	id := f.record.ID
	if most := f.capacity(location); f.live[location] >= most {
		return full("fleet %s hosts its maximum of %d game sessions in %s", id, most, location)
	}
	if most := r.locations[location].GameSessionsMax; most > 0 && r.live[location] >= most {
		return full("location %s hosts its maximum of %d game sessions", location, most)
	}
	if most := f.record.Runtime.ActivatingMax * f.record.GroupsIn(location).Desired; most > 0 && f.activating[location] >= most {
		return full("fleet %s activates its maximum of %d game sessions at a time in %s", id, most, location)
	}
	if f.record.ScriptID != "" && !r.hosting.HasFree(id, location) {
		if err := r.hosting.Refused(id); err != nil {
			return err
		}
		return full("fleet %s has no process that is free in %s", id, location)
	}
	return nil
}

func full(format string, args ...any) error {
	return messages.Errorf(messages.FleetCapacityExceeded, format, args...)
}

// activates counts a game session that is ACTIVATING, or is no longer: to count them by
// their statuses would take a look at each, for each new one.
func (e *entry) activates(yes bool) {
	if e.starting == yes {
		return
	}
	by := 1
	if e.starting = yes; !yes {
		by = -1
		e.overdue.Stop()
		e.overdue = nil
	}
	e.fleet.activating[e.location] += by
}

// cost is what a fleet costs per hour in a location.
func (r *Registry) cost(f *fleetEntry, location string) float64 {
	if c, ok := f.record.Costs[location]; ok {
		return c
	}
	if c := f.record.Cost; c > 0 {
		return c
	}
	return r.locations[location].Cost
}

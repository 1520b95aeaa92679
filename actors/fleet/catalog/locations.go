package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// unknownLocation returns the first name that is neither a configured nor a custom location. It returns "" if all are
// known.
func (c *Catalog) unknownLocation(names []string) string {
	i := slices.IndexFunc(names, func(name string) bool {
		_, known := c.locations[name]
		return !known && !messages.CustomLocation(name)
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

func noLocation(name string) error {
	return messages.Errorf(messages.InvalidRequest, "this host has no location %s", name)
}

func (c *Catalog) onCreateLocation(m stage.Request[messages.CreateLocation, messages.Location]) {
	l := m.Request.Location
	reply := func(err error) { m.Reply(l, err) }
	c.ledger.Do(ledger.Transaction{Key: locationKey(l.Name), Reply: reply, Decide: func() (ledger.Entry, error) {
		custom := c.ledger.Claimed(store.Location).Count
		for name := range c.locations {
			if messages.CustomLocation(name) {
				custom++
			}
		}
		if old, taken := c.locations[l.Name]; messages.SameCall(old.Call, l.Call) {
			l = old
			return ledger.Entry{}, nil
		} else if taken {
			return ledger.Entry{}, messages.Errorf(messages.Conflict, "location %s exists", l.Name)
		}
		if custom >= customMax {
			return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "there are %d custom locations already", customMax)
		}
		l.Created = c.context.Now()
		e := c.locationAs(l)
		e.Claim.Count = 1
		return e, nil
	}})
}

func (c *Catalog) locationAs(l messages.Location) ledger.Entry {
	return ledger.Entry{Changes: []store.Change{store.Put(store.Location, l.Name, l)}, Apply: func() { c.locations[l.Name] = l }}
}

func (c *Catalog) onDeleteLocation(m stage.Request[messages.DeleteLocation, stage.None]) {
	name := m.Request.Name
	c.ledger.Do(ledger.Transaction{Key: locationKey(name), Reply: m.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		if _, ok := c.locations[name]; !ok || !messages.CustomLocation(name) {
			return ledger.Entry{}, messages.Errorf(messages.NotFound, "there is no custom location %s", name)
		}
		for _, f := range c.fleets {
			if f.record.Status != messages.FleetTerminated && slices.Contains(f.record.Locations, name) {
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "location %s is used by fleet %s", name, f.record.ID)
			}
		}
		return ledger.Entry{Changes: []store.Change{store.Delete(store.Location, name)}, Apply: func() { delete(c.locations, name) }}, nil
	}})
}

func (c *Catalog) allLocations() []messages.Location {
	return slices.SortedFunc(maps.Values(c.locations), func(a, b messages.Location) int { return cmp.Compare(a.Name, b.Name) })
}

func (c *Catalog) onAddLocations(m stage.Request[messages.AddFleetLocations, *messages.Fleet]) {
	q := m.Request
	c.changeFleet(q.FleetID, locationKeys(q.Locations), m.Reply, func(f *fleet) (fleetChange, error) {
		if err := c.addable(f, q.Locations); err != nil {
			return fleetChange{}, err
		}
		try := *f.record
		try.Locations = slices.Concat(try.Locations, q.Locations)
		return fleetChange{set: func(n *messages.Fleet, e *events) {
			n.Locations = slices.Concat(n.Locations, q.Locations)
			for _, l := range q.Locations {
				e.addLocation(c.context.Now(), l, "PENDING", "CREATING", "CREATED", "ACTIVATING", "ACTIVE")
			}
		}, then: func() {
			c.o.Listener.CapacityChanged(f.record, "")
		}}, EnoughPorts(&try)
	})
}

func (c *Catalog) addable(f *fleet, locations []string) error {
	record := f.record
	unknown := c.unknownLocation(locations)
	switch {
	case record.Anywhere:
		return messages.Errorf(messages.InvalidRequest, "fleet %s is an ANYWHERE fleet: its locations are given when it is made", record.ID)
	case unknown != "":
		return noLocation(unknown)
	case len(record.Locations)+len(locations) > fleetLocationsMax:
		return messages.Errorf(messages.LimitExceeded, "a fleet has at most %d locations", fleetLocationsMax)
	}
	for _, l := range locations {
		if slices.Contains(record.Locations, l) {
			return messages.Errorf(messages.Conflict, "fleet %s has the location %s already", record.ID, l)
		}
	}
	return nil
}

// addLocation adds an event for each of the states that a location goes through at once.
func (e *events) addLocation(now time.Time, location string, states ...string) {
	for _, s := range states {
		e.add(now, eventLocationPrefix+s, fmt.Sprintf("location %s is %s", location, s))
	}
}

// onRemoveLocations removes locations from a fleet and ends the fleet's game sessions there.
func (c *Catalog) onRemoveLocations(m stage.Request[messages.RemoveFleetLocations, *messages.Fleet]) {
	q := m.Request
	removed := func(l string) bool { return slices.Contains(q.Locations, l) }
	c.changeFleet(q.FleetID, nil, m.Reply, func(f *fleet) (fleetChange, error) {
		return fleetChange{set: func(n *messages.Fleet, e *events) {
			for _, l := range q.Locations {
				e.addLocation(c.context.Now(), l, "DELETING", "DELETED")
			}
			n.Locations = slices.DeleteFunc(slices.Clone(n.Locations), removed)
			n.Groups = maps.Clone(n.Groups)
			maps.DeleteFunc(n.Groups, func(l string, _ messages.Groups) bool { return removed(l) })
		}, then: func() {
			c.dropComputes(func(m *messages.Compute) bool { return m.FleetID == f.record.ID && removed(m.Location) })
			c.o.Listener.LocationsRemoved(f.record, q.Locations)
		}}, removable(f.record, q.Locations)
	})
}

func removable(f *messages.Fleet, locations []string) error {
	if f.Anywhere {
		return messages.Errorf(messages.InvalidRequest, "fleet %s is an ANYWHERE fleet: its locations stay", f.ID)
	}
	for _, l := range locations {
		switch i := slices.Index(f.Locations, l); {
		case i < 0:
			return messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.ID, l)
		case i == 0:
			return messages.Errorf(messages.InvalidRequest, "%s is the home location of fleet %s: it cannot be removed", l, f.ID)
		}
	}
	return nil
}

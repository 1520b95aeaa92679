package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// onUpdateCapacity changes the number of a fleet's process groups in a location. Game sessions beyond the new capacity
// end, unless they are protected.
func (c *Catalog) onUpdateCapacity(m stage.Request[messages.UpdateCapacity, *messages.Fleet]) {
	q := m.Request
	var changed *messages.Fleet
	c.ledger.Do(ledger.Transaction{Key: fleetKey(q.FleetID), Reply: m.With(&changed), Decide: func() (ledger.Entry, error) {
		f, err := c.resolve(q.FleetID, "")
		if err != nil {
			return ledger.Entry{}, err
		}
		location := cmp.Or(q.Location, f.record.Locations[0])
		was := f.record.GroupsIn(location)
		now := was
		messages.Replace(&now.Desired, q.Desired)
		messages.Replace(&now.Min, q.Min)
		messages.Replace(&now.Max, q.Max)
		if err := c.capacityAllowed(f.record, location, now); err != nil {
			return ledger.Entry{}, err
		}
		groups := make(map[string]messages.Groups, len(f.record.Groups)+1)
		maps.Copy(groups, f.record.Groups)
		groups[location] = now
		try := *f.record
		try.Groups = groups
		if err := EnoughPorts(&try); err != nil && now.Desired > was.Desired {
			return ledger.Entry{}, err
		}
		return c.fleetAs(f, fleetChange{set: func(n *messages.Fleet, e *events) {
			if now.Desired != was.Desired {
				e.add(c.context.Now(), EventScaling, fmt.Sprintf("process groups in %s: %d, before %d", location, now.Desired, was.Desired))
			}
			n.Groups = groups
		}, then: func() {
			c.o.Listener.CapacityChanged(f.record, location)
		}}, &changed), nil
	}})
}

func (c *Catalog) capacityAllowed(f *messages.Fleet, location string, g messages.Groups) error {
	switch {
	case f.Anywhere:
		return messages.Errorf(messages.InvalidRequest, "fleet %s is an ANYWHERE fleet: it has the computes that register", f.ID)
	case !slices.Contains(f.Locations, location):
		return messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.ID, location)
	case f.Status != messages.FleetActive:
		return messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s, not ACTIVE", f.ID, f.Status)
	case g.Min > g.Desired || g.Desired > g.Max:
		return messages.Errorf(messages.InvalidRequest, "MinSize %d, DesiredInstances %d and MaxSize %d must not decrease", g.Min, g.Desired, g.Max)
	case g.Max > c.o.GroupsMax:
		return messages.Errorf(messages.LimitExceeded, "MaxSize may be at most %d on this host, it is %d", c.o.GroupsMax, g.Max)
	}
	return nil
}

// EnoughPorts returns an error if a host does not have a port for each process of a fleet with a Server, in all locations
// together.
func EnoughPorts(f *messages.Fleet) error {
	if f.Server == nil || f.Server.Ports() == 0 {
		return nil
	}
	need := 0
	for _, l := range f.Locations {
		need += Capacity(f, l)
	}
	if ports := f.Server.Ports(); need > ports {
		return messages.Errorf(messages.InvalidRequest, "fleet %s has %d ports, and %d processes need one each", f.ID, ports, need)
	}
	return nil
}

// Capacity returns the number of game sessions that a fleet may host in a location. It does not take other fleets in
// that location into account.
func Capacity(f *messages.Fleet, location string) int {
	groups := f.GroupsIn(location).Desired
	switch {
	case f.Anywhere:
		return 0 // its processes run on computes, not on this host
	case f.ScriptID == "" && f.Server == nil:
		return groups * f.GameSessionsMax
	}
	n := concurrent(f.Runtime)
	if most := f.GameSessionsMax; most > 0 {
		n = min(n, most)
	}
	return groups * n
}

// concurrent returns the number of processes in one process group.
func concurrent(c messages.RuntimeConfiguration) (sum int) {
	for _, p := range c.Processes {
		sum += p.Concurrent
	}
	return sum
}

// Cost returns the hourly cost of a fleet in a location.
func (c *Catalog) Cost(f *messages.Fleet, location string) float64 {
	if cost, ok := f.Costs[location]; ok {
		return cost
	}
	if f.Cost > 0 {
		return f.Cost
	}
	return c.locations[location].Cost
}

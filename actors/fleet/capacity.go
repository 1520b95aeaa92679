package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// onUpdateCapacity changes how many process groups a fleet has in a location. What is
// over a smaller number ends, but for game sessions with protection.
func (r *Registry) onUpdateCapacity(c *stage.Context, m stage.Request[messages.UpdateCapacity, *messages.Fleet]) {
	q := m.Request
	var changed *messages.Fleet
	r.ledger.Do(ledger.Transaction{Key: fleetKey(q.FleetID), Reply: one(m.Reply, &changed), Decide: func() (ledger.Entry, error) {
		r.forgetOld(c)
		f, err := r.resolve(q.FleetID, "")
		if err != nil {
			return ledger.Entry{}, err
		}
		location := cmp.Or(q.Location, f.record.Locations[0])
		was := f.record.GroupsIn(location)
		now := was
		replace(&now.Desired, q.Desired)
		replace(&now.Min, q.Min)
		replace(&now.Max, q.Max)
		if err := r.capacityAllowed(f.record, location, now); err != nil {
			return ledger.Entry{}, err
		}
		return r.fleetAs(f, fleetChange{set: func(n *messages.Fleet, e *events) {
			if now.Desired != was.Desired {
				e.add(c.Now(), eventScaling, fmt.Sprintf("process groups in %s: %d, before %d", location, now.Desired, was.Desired))
			}
			groups := make(map[string]messages.Groups, len(n.Groups)+1)
			for l, g := range n.Groups {
				groups[l] = g
			}
			groups[location] = now
			n.Groups = groups
		}, then: func() {
			r.shrink(f, location)
			r.hosting.Refill(f.record.ID)
			r.tellRoom(f, location)
		}}, &changed), nil
	}})
}

func (r *Registry) capacityAllowed(f *messages.Fleet, location string, g messages.Groups) error {
	switch {
	case f.Anywhere:
		return messages.Errorf(messages.InvalidRequest, "fleet %s is an ANYWHERE fleet: it has the computes that register", f.ID)
	case !slices.Contains(f.Locations, location):
		return messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.ID, location)
	case f.Status != messages.FleetActive:
		return messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s, not ACTIVE", f.ID, f.Status)
	case g.Min > g.Desired || g.Desired > g.Max:
		return messages.Errorf(messages.InvalidRequest, "MinSize %d, DesiredInstances %d and MaxSize %d must not decrease", g.Min, g.Desired, g.Max)
	case g.Max > r.o.GroupsMax:
		return messages.Errorf(messages.LimitExceeded, "MaxSize may be at most %d on this host, it is %d", r.o.GroupsMax, g.Max)
	}
	return nil
}

// shrink ends the game sessions in a location that are over its capacity: those without
// players first, then the newest.
func (r *Registry) shrink(f *fleetEntry, location string) {
	over := r.hosting.Surplus(f.record.ID, location)
	if f.record.ScriptID == "" {
		over[nil] = f.live[location] - f.capacity(location)
	}
	var ending []*entry
	for _, e := range r.order {
		if e.fleet != f || e.location != location || e.over || e.ref == nil {
			continue
		}
		switch g := e.published.Session(); {
		case g.Status == messages.GameSessionTerminating:
			over[e.config()]-- // it leaves anyway
		case !g.Protected:
			ending = append(ending, e)
		}
	}
	slices.Reverse(ending)
	slices.SortStableFunc(ending, func(a, b *entry) int {
		return min(1, a.published.Session().CurrentPlayers) - min(1, b.published.Session().CurrentPlayers)
	})
	for _, e := range ending {
		if over[e.config()] > 0 {
			over[e.config()]--
			e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "the fleet was scaled down"})
		}
	}
}

// config is the process configuration that a game session counts for; nil without a script.
func (e *entry) config() *hosting.ProcessConfig {
	if e.process == nil {
		return nil
	}
	return e.process.Config()
}

// uses counts what fleets have and use in one location each. Unknown ids, and fleets
// that are not there, are left out.
func (r *Registry) uses(q messages.FleetUseQuery) []messages.FleetUse {
	var fleets []*messages.Fleet
	if q.FleetIDs == nil {
		fleets = r.allFleets()
	}
	for _, id := range q.FleetIDs {
		if f := r.fleets[id]; f != nil {
			fleets = append(fleets, f.record)
		}
	}
	all := make([]messages.FleetUse, 0, len(fleets))
	at := make(map[*fleetEntry]int)
	for _, record := range fleets {
		f := r.fleets[record.ID]
		location := cmp.Or(q.Location, record.Locations[0])
		if _, twice := at[f]; twice || !slices.Contains(record.Locations, location) {
			continue
		}
		at[f] = len(all)
		all = append(all, r.has(f, location))
	}
	for _, e := range r.refs {
		if i, ok := at[e.fleet]; ok && all[i].Location == e.location && !e.over {
			count(&all[i], e)
		}
	}
	return all
}

// count adds what a game session uses.
func count(u *messages.FleetUse, e *entry) {
	g := e.published.Session()
	if g.Status != messages.GameSessionActive {
		return
	}
	u.GameSessions++
	u.PlayersMax += g.MaxPlayers
	e.published.Players(func(_ messages.PlayerSessionID, _ messages.PlayerID, s messages.PlayerSessionStatus) bool {
		if s == messages.PlayerSessionActive {
			u.Players++
		}
		return false
	})
}

// has is what a fleet has in a location, without what its game sessions use.
func (r *Registry) has(f *fleetEntry, location string) messages.FleetUse {
	u := messages.FleetUse{Fleet: f.record, Location: location, Groups: f.record.GroupsIn(location)}
	live, capacity := f.live[location], f.capacity(location)
	switch f.record.Status {
	case messages.FleetActive:
		u.Active = u.Groups.Desired
	case messages.FleetDeleting, messages.FleetTerminated, messages.FleetErrored:
		u.Groups.Desired = 0
	default:
		u.Pending = u.Groups.Desired
	}
	if f.record.Anywhere {
		return messages.FleetUse{Fleet: f.record, Location: location}
	}
	used := 0 // groups with a game session: they are filled one after the other
	if u.Active > 0 && capacity > 0 {
		each := capacity / u.Active
		used = (live + each - 1) / each
	} else if live > 0 {
		used = 1
	}
	u.Idle, u.Terminating = max(0, u.Active-used), max(0, used-u.Active)
	u.Processes = live
	if f.record.Status == messages.FleetActive {
		if most := r.locations[location].GameSessionsMax; most > 0 {
			capacity = min(capacity, most)
		}
		u.Processes = max(live, capacity)
	}
	return u
}

// instances lists the process groups of a fleet in a location.
func (r *Registry) instances(q messages.InstanceQuery) ([]messages.Instance, error) {
	f, err := r.resolve(q.FleetID, "")
	if err != nil {
		return nil, err
	}
	location := cmp.Or(q.Location, f.record.Locations[0])
	if !slices.Contains(f.record.Locations, location) {
		return nil, messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.record.ID, location)
	}
	u := r.has(f, location)
	address := r.o.Advertised
	if f.record.Certificates {
		address = r.o.Secured
	}
	all := make([]messages.Instance, 0, u.Pending+u.Active+u.Terminating)
	for i := range u.Pending + u.Active + u.Terminating {
		status := "ACTIVE"
		switch {
		case i >= u.Pending+u.Active:
			status = "TERMINATING"
		case u.Pending > 0:
			status = "PENDING"
		}
		all = append(all, messages.Instance{
			ID: instanceID(f.record.ID, location, i), FleetID: f.record.ID, Location: location, Type: f.record.Shown.InstanceType,
			Status: status, IPAddress: address.IPAddress, DNSName: address.DNSName, Created: f.record.Created,
		})
	}
	return all, nil
}

// instanceID names a process group, in the form of the vendor's ids.
func instanceID(f messages.FleetID, location string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", f, location, n))
	return "i-" + hex.EncodeToString(sum[:])[:17]
}

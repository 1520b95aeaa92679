package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"troupe/actors/fleet/catalog"
	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/messages"
)

// shrink ends the game sessions of a fleet in a location that exceed the fleet's capacity. It ends those without
// players first, then the newest.
func (gs *games) shrink(f *messages.Fleet, location string) {
	own := gs.fleetOf(f.ID)
	over := gs.hosting.Surplus(f.ID, location)
	if f.ScriptID == "" {
		over[nil] = own.live[location] - catalog.Capacity(f, location)
	}
	var ending []*entry
	for _, e := range gs.order {
		if e.fleet != own || e.location != location || !e.runs() {
			continue
		}
		switch g := e.published.Session(); {
		case g.Status == messages.GameSessionTerminating:
			over[e.config()]-- // it is ending anyway
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

// config returns the process configuration of a game session. It returns nil for a fleet without a script.
func (e *entry) config() *hosting.ProcessConfig {
	if e.process == nil {
		return nil
	}
	return e.process.Config()
}

// uses returns the capacity and use of each fleet in one location. It skips unknown ids and fleets that are not in the
// location.
func (gs *games) uses(q messages.FleetUseQuery) []messages.FleetUse {
	var fleets []*messages.Fleet
	if q.FleetIDs == nil {
		fleets = gs.catalog.Fleets()
	}
	for _, id := range q.FleetIDs {
		if f := gs.catalog.Fleet(id); f != nil {
			fleets = append(fleets, f)
		}
	}
	all := make([]messages.FleetUse, 0, len(fleets))
	at := make(map[*fleetGames]int)
	for _, f := range fleets {
		own, location := gs.fleetOf(f.ID), cmp.Or(q.Location, f.Locations[0])
		if _, twice := at[own]; twice || !slices.Contains(f.Locations, location) {
			continue
		}
		at[own] = len(all)
		all = append(all, gs.has(f, location))
	}
	for _, e := range gs.refs {
		if i, ok := at[e.fleet]; ok && all[i].Location == e.location && e.runs() {
			count(&all[i], e)
		}
	}
	return all
}

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

// has returns a fleet's capacity and process groups in a location. It does not count the players.
func (gs *games) has(f *messages.Fleet, location string) messages.FleetUse {
	u := messages.FleetUse{Fleet: f, Location: location, Groups: f.GroupsIn(location)}
	live, capacity := gs.fleetOf(f.ID).live[location], catalog.Capacity(f, location)
	switch f.Status {
	case messages.FleetActive:
		u.Active = u.Groups.Desired
	case messages.FleetDeleting, messages.FleetTerminated, messages.FleetErrored:
		u.Groups.Desired = 0
	default:
		u.Pending = u.Groups.Desired
	}
	if f.Anywhere {
		return messages.FleetUse{Fleet: f, Location: location, Processes: live + len(gs.servers.free[serverPlace{f.ID, location}])}
	}
	used := 0 // number of groups with a game session; the groups are filled one after the other
	if u.Active > 0 && capacity > 0 {
		each := capacity / u.Active
		used = (live + each - 1) / each
	} else if live > 0 {
		used = 1
	}
	u.Idle, u.Terminating = max(0, u.Active-used), max(0, used-u.Active)
	u.Processes = live
	if f.Status == messages.FleetActive {
		if most := gs.catalog.Location(location).GameSessionsMax; most > 0 {
			capacity = min(capacity, most)
		}
		u.Processes = max(live, capacity)
	}
	return u
}

func (gs *games) instances(q messages.InstanceQuery) ([]messages.Instance, error) {
	f, err := gs.catalog.Resolve(q.FleetID, "")
	if err != nil {
		return nil, err
	}
	location := cmp.Or(q.Location, f.Locations[0])
	if !slices.Contains(f.Locations, location) {
		return nil, messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.ID, location)
	}
	u := gs.has(f, location)
	address := gs.o.address(f)
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
			ID: instanceID(f.ID, location, i), FleetID: f.ID, Location: location, Type: f.Shown.InstanceType,
			Status: status, IPAddress: address.IPAddress, DNSName: address.DNSName, Created: f.Created,
		})
	}
	return all, nil
}

// instanceID returns the id of a process group in the form of GameLift's instance ids.
func instanceID(f messages.FleetID, location string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", f, location, n))
	return "i-" + hex.EncodeToString(sum[:])[:17]
}

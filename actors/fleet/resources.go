package fleet

import (
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Keys of resources.
func fleetKey(id messages.FleetID) ledger.Key { return ledger.Key{Kind: store.Fleet, ID: string(id)} }
func scriptKey(id messages.ScriptID) ledger.Key {
	return ledger.Key{Kind: store.Script, ID: string(id)}
}
func aliasKey(id messages.AliasID) ledger.Key { return ledger.Key{Kind: store.Alias, ID: string(id)} }
func locationKey(name string) ledger.Key      { return ledger.Key{Kind: store.Location, ID: name} }

// locationKeys are the keys of locations that a fleet is to have: they must not go meanwhile.
func locationKeys(names []string) []ledger.Key {
	keys := make([]ledger.Key, len(names))
	for i, name := range names {
		keys[i] = locationKey(name)
	}
	return keys
}

// receiveResources takes requests about fleets, scripts, aliases, locations and tags;
// false if msg is none. Those that change something are transactions of the ledger.
func (r *Registry) receiveResources(c *stage.Context, msg any) bool {
	switch m := msg.(type) {
	case stage.Request[NewScript, *messages.Script]:
		r.onCreateScript(c, m)
	case stage.Request[ChangeScript, Changed]:
		r.onUpdateScript(c, m)
	case stage.Request[Scripts, []*messages.Script]:
		m.Reply(r.describeScripts(m.Request.ID))
	case stage.Request[DropScript, stage.None]:
		r.onDeleteScript(c, m)
	case stage.Request[messages.CreateFleet, *messages.Fleet]:
		r.onCreateFleet(c, m)
	case stage.Request[DropFleet, stage.None]:
		r.onDeleteFleet(c, m)
	case stage.Request[messages.UpdateFleet, *messages.Fleet]:
		r.onUpdateFleet(c, m)
	case stage.Request[messages.UpdateRuntime, *messages.Fleet]:
		r.onUpdateRuntime(c, m)
	case stage.Request[messages.UpdateCapacity, *messages.Fleet]:
		r.onUpdateCapacity(c, m)
	case stage.Request[messages.UpdatePorts, *messages.Fleet]:
		r.onUpdatePorts(c, m)
	case stage.Request[AddLocations, *messages.Fleet]:
		r.onAddLocations(c, m)
	case stage.Request[RemoveLocations, *messages.Fleet]:
		r.onRemoveLocations(c, m)
	case stage.Request[messages.FleetUseQuery, []messages.FleetUse]:
		r.forgetOld(c)
		m.Reply(r.uses(m.Request), nil)
	case stage.Request[messages.InstanceQuery, []messages.Instance]:
		r.forgetOld(c)
		m.Reply(r.instances(m.Request))
	case stage.Request[Events, []messages.FleetEvent]:
		r.forgetOld(c)
		m.Reply(r.fleetEvents(m.Request.ID))
	case stage.Request[messages.CreateAlias, *messages.Alias]:
		r.onCreateAlias(c, m)
	case stage.Request[messages.UpdateAlias, *messages.Alias]:
		r.onUpdateAlias(c, m)
	case stage.Request[DropAlias, stage.None]:
		r.onDeleteAlias(c, m)
	case stage.Request[Aliases, []*messages.Alias]:
		m.Reply(r.describeAliases(m.Request.ID))
	case stage.Request[messages.Location, messages.Location]:
		r.onCreateLocation(c, m)
	case stage.Request[DropLocation, stage.None]:
		r.onDeleteLocation(m)
	case stage.Request[Locations, []messages.Location]:
		m.Reply(r.allLocations(), nil)
	case stage.Request[messages.UpdateTags, map[string]string]:
		r.onUpdateTags(m)
	case stage.Request[messages.Resource, map[string]string]:
		m.Reply(r.tags(m.Request))
	default:
		return false
	}
	return true
}

// What is asked about aliases and locations.
type (
	// Aliases asks for one alias, or with an empty id for all, oldest first.
	Aliases struct{ ID messages.AliasID }
	// DropAlias deletes an alias.
	DropAlias struct{ ID messages.AliasID }
	// Locations asks for all locations, by name.
	Locations struct{}
	// DropLocation deletes a custom location that no fleet uses.
	DropLocation struct{ Name string }
	// AddLocations adds locations to a fleet.
	AddLocations messages.FleetLocations
	// RemoveLocations takes locations from a fleet, and ends its game sessions there.
	RemoveLocations messages.FleetLocations
)

// nothing passes the error of a request whose answer is none.
func nothing(reply func(stage.None, error)) func(error) {
	return func(err error) { reply(stage.None{}, err) }
}

// one passes a record that is decided on by then, or the error.
func one[A any](reply func(A, error), answer *A) func(error) {
	return func(err error) {
		if err != nil {
			var none A
			reply(none, err)
			return
		}
		reply(*answer, nil)
	}
}

package catalog

import (
	"time"

	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Requests, each in a stage.Request. The methods of actors.System document the requests of
// package messages.
type (
	// NewScript creates a script from a bundle; of Request.Zip only the size is used.
	NewScript struct {
		Request messages.CreateScript
		Bundle  *bundle.Bundle
	}
	// ChangeScript changes a script. It is answered when each process configuration runs
	// the new content or cannot, or after Wait (0: 10 s). A nil bundle keeps the content.
	ChangeScript struct {
		Request messages.UpdateScript
		Bundle  *bundle.Bundle
		Wait    time.Duration
	}
	// Changed is the answer to ChangeScript. If Refused is empty and Loading is false, new
	// game sessions run the new content.
	Changed struct {
		Script  *messages.Script
		Refused []string // reasons why processes do not run the new content
		Loading bool     // some process is still being started
	}
	// DropScript is refused while a fleet uses it (D-208).
	DropScript struct{ ID messages.ScriptID }
	// Scripts asks for one script, or with an empty id for all, oldest first.
	Scripts struct{ ID messages.ScriptID }
	// Fleets asks for all fleets, oldest first.
	Fleets struct{}
	// DropFleet deletes a fleet, and ends its game sessions.
	DropFleet struct{ ID messages.FleetID }
	// Events asks for the events of a fleet, oldest first.
	Events struct{ ID messages.FleetID }
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

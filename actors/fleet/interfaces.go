package fleet

import (
	"time"

	"troupe/messages"
)

// Catalog is the interface of game sessions and hosting to the resources. catalog.Catalog implements it
// for a single host; in a cluster another host may decide, and this one has a copy. Methods are called
// in the fleet actor and return at once; only Charge may be answered later.
type Catalog interface {
	// Resolve finds a fleet by its id, or through an alias if that is not empty.
	Resolve(id messages.FleetID, alias messages.AliasID) (*messages.Fleet, error)
	// Fleet returns nil for a fleet that does not exist, or was TERMINATED long ago.
	Fleet(id messages.FleetID) *messages.Fleet
	// Fleets returns all fleets, oldest first.
	Fleets() []*messages.Fleet
	Location(name string) messages.Location
	// Cost returns the cost per hour.
	Cost(f *messages.Fleet, location string) float64
	// Charge counts a game session that a creator is about to create. The error says why the
	// creator's limit does not allow it. Reply is called once, in the fleet actor, and maybe
	// before Charge returns.
	Charge(f *messages.Fleet, creator string, reply func(error))
	// Refund takes back the last Charge. Charged counts a game session that was created before
	// the start of the host.
	Refund(id messages.FleetID, creator string)
	Charged(id messages.FleetID, creator string, at time.Time)
	// FleetEvent records what has happened to a fleet.
	FleetEvent(id messages.FleetID, code, message string)
	// Emptied says that a fleet has no game sessions any more.
	Emptied(id messages.FleetID)
}

package fleet

import (
	"time"

	"troupe/actors/fleet/hosting"
	"troupe/messages"
)

// Catalog is the view that game sessions and hosting have of the resources. catalog.Catalog implements it
// for a single host; in a cluster another host may decide, and this one follows with a copy. Methods are
// called in the fleet actor and return at once; only Charge and requests may be answered later.
type Catalog interface {
	hosting.Catalog
	// Resolve finds a fleet by its id, or through an alias if that is not empty.
	Resolve(id messages.FleetID, alias messages.AliasID) (*messages.Fleet, error)
	// Fleet returns nil for a fleet that is not there, or has been TERMINATED for long.
	Fleet(id messages.FleetID) *messages.Fleet
	// Fleets returns all, oldest first; Each visits them in any order.
	Fleets() []*messages.Fleet
	Each(f func(*messages.Fleet))
	Location(name string) messages.Location
	// Cost is per hour.
	Cost(f *messages.Fleet, location string) float64
	// Charge counts a game session that a creator is about to create, or says why that is
	// not allowed; reply is called once, in the fleet actor, and maybe before Charge returns.
	Charge(f *messages.Fleet, creator string, reply func(error))
	// Refund takes the last Charge back. Charged is Charge for the time before the start.
	Refund(id messages.FleetID, creator string)
	Charged(id messages.FleetID, creator string, at time.Time)
	// Emptied says that a fleet hosts no game session any more.
	Emptied(id messages.FleetID)
	// Receive takes a request about resources; false if msg is none. The request is
	// answered by its Reply, maybe later.
	Receive(msg any) bool
}

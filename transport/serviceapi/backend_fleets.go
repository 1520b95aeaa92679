package serviceapi

import (
	"context"

	"troupe/messages"
)

// FleetBackend is the part of a Backend for fleets, aliases, locations and tags. A method
// that changes something returns once the change is durable.
type FleetBackend interface {
	// UpdateFleet changes the attributes of a fleet.
	UpdateFleet(ctx context.Context, req messages.UpdateFleet) (*messages.Fleet, error)
	// UpdateCapacity changes how many process groups a fleet has in a location.
	UpdateCapacity(ctx context.Context, req messages.UpdateCapacity) (*messages.Fleet, error)
	// UpdatePorts changes the port ranges that a fleet's settings name.
	UpdatePorts(ctx context.Context, req messages.UpdatePorts) (*messages.Fleet, error)
	// AddFleetLocations adds locations to a fleet, RemoveFleetLocations removes some.
	AddFleetLocations(ctx context.Context, req messages.FleetLocations) (*messages.Fleet, error)
	RemoveFleetLocations(ctx context.Context, req messages.FleetLocations) (*messages.Fleet, error)
	// FleetUse returns the capacity and the use of fleets in a location. It leaves out unknown
	// ids, and fleets that are not in the location. Without a location it returns the numbers
	// of each fleet's home location, not the sum of all locations.
	FleetUse(ctx context.Context, q messages.FleetUseQuery) ([]messages.FleetUse, error)
	// Instances returns the process groups of a fleet in one location. The error is NotFound
	// if the fleet does not have the location.
	Instances(ctx context.Context, q messages.InstanceQuery) ([]messages.Instance, error)

	// CreateAlias makes an alias. An unknown fleet is InvalidRequest.
	CreateAlias(ctx context.Context, req messages.CreateAlias) (*messages.Alias, error)
	// UpdateAlias changes an alias. An unknown fleet is NotFound.
	UpdateAlias(ctx context.Context, req messages.UpdateAlias) (*messages.Alias, error)
	// DeleteAlias deletes an alias.
	DeleteAlias(ctx context.Context, id messages.AliasID) error
	// Aliases answers one alias, or without an id all.
	Aliases(ctx context.Context, id messages.AliasID) ([]*messages.Alias, error)

	// CreateLocation makes a custom location; a name that is taken is Conflict.
	CreateLocation(ctx context.Context, req messages.Location) (messages.Location, error)
	// DeleteLocation deletes a custom location; one that a fleet uses is InvalidRequest.
	DeleteLocation(ctx context.Context, name string) error
	// Locations answers all locations.
	Locations(ctx context.Context) ([]messages.Location, error)

	// Tags returns the tags of a resource. An unknown resource, and a kind of resource that
	// has no tags, is NotFound.
	Tags(ctx context.Context, q messages.Resource) (map[string]string, error)
	// UpdateTags changes the tags of a resource.
	UpdateTags(ctx context.Context, req messages.UpdateTags) (map[string]string, error)
}

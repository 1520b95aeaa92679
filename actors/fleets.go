package actors

import (
	"context"

	"troupe/actors/fleet/catalog"
	"troupe/actors/matchmaker"
	"troupe/actors/stage"
	"troupe/messages"
)

// UpdateFleet changes the attributes of a fleet.
func (s *System) UpdateFleet(ctx context.Context, q messages.UpdateFleet) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, q)
}

// UpdateCapacity changes how many process groups a fleet has in a location.
func (s *System) UpdateCapacity(ctx context.Context, q messages.UpdateCapacity) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, q)
}

// UpdatePorts changes the port ranges that a fleet's settings name.
func (s *System) UpdatePorts(ctx context.Context, q messages.UpdatePorts) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, q)
}

// AddFleetLocations adds locations to a fleet.
func (s *System) AddFleetLocations(ctx context.Context, q messages.FleetLocations) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, catalog.AddLocations(q))
}

// RemoveFleetLocations takes locations from a fleet, and ends its game sessions there.
func (s *System) RemoveFleetLocations(ctx context.Context, q messages.FleetLocations) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, catalog.RemoveLocations(q))
}

// FleetRoom returns the room of all fleets in all their locations, at most messages.FleetRoomMax
// entries.
func (s *System) FleetRoom(ctx context.Context) ([]messages.FleetRoom, error) {
	return ask[[]messages.FleetRoom](ctx, s.fleet, messages.FleetRoomQuery{})
}

// FleetUse returns the capacity and the use of fleets.
func (s *System) FleetUse(ctx context.Context, q messages.FleetUseQuery) ([]messages.FleetUse, error) {
	return ask[[]messages.FleetUse](ctx, s.fleet, q)
}

// Instances lists the process groups of a fleet in one location.
func (s *System) Instances(ctx context.Context, q messages.InstanceQuery) ([]messages.Instance, error) {
	return ask[[]messages.Instance](ctx, s.fleet, q)
}

// CreateAlias makes an alias.
func (s *System) CreateAlias(ctx context.Context, q messages.CreateAlias) (*messages.Alias, error) {
	return ask[*messages.Alias](ctx, s.fleet, q)
}

// UpdateAlias changes an alias.
func (s *System) UpdateAlias(ctx context.Context, q messages.UpdateAlias) (*messages.Alias, error) {
	return ask[*messages.Alias](ctx, s.fleet, q)
}

// DeleteAlias deletes an alias.
func (s *System) DeleteAlias(ctx context.Context, id messages.AliasID) error {
	_, err := ask[stage.None](ctx, s.fleet, catalog.DropAlias{ID: id})
	return err
}

// Aliases reads one alias, or with an empty id all, oldest first.
func (s *System) Aliases(ctx context.Context, id messages.AliasID) ([]*messages.Alias, error) {
	return ask[[]*messages.Alias](ctx, s.fleet, catalog.Aliases{ID: id})
}

// CreateLocation makes a custom location.
func (s *System) CreateLocation(ctx context.Context, l messages.Location) (messages.Location, error) {
	return ask[messages.Location](ctx, s.fleet, l)
}

// DeleteLocation deletes a custom location that no fleet uses.
func (s *System) DeleteLocation(ctx context.Context, name string) error {
	_, err := ask[stage.None](ctx, s.fleet, catalog.DropLocation{Name: name})
	return err
}

// Locations reads all locations, by name.
func (s *System) Locations(ctx context.Context) ([]messages.Location, error) {
	return ask[[]messages.Location](ctx, s.fleet, catalog.Locations{})
}

// taggedBy returns the actor that has the resources of a kind.
func (s *System) taggedBy(kind string) *stage.Ref {
	switch kind {
	case queueKind:
		return s.placements
	case matchmaker.KindRuleSet, matchmaker.KindMatchmaker:
		return s.matchmaking
	}
	return s.fleet
}

// Tags reads the tags of a resource.
func (s *System) Tags(ctx context.Context, q messages.Resource) (map[string]string, error) {
	return ask[map[string]string](ctx, s.taggedBy(q.Kind), q)
}

// UpdateTags changes the tags of a resource and returns all of them.
func (s *System) UpdateTags(ctx context.Context, q messages.UpdateTags) (map[string]string, error) {
	return ask[map[string]string](ctx, s.taggedBy(q.Resource.Kind), q)
}

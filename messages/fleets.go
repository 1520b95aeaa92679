package messages

import (
	"maps"
	"time"
)

// UpdateFleet changes the attributes of a fleet that are not nil.
type UpdateFleet struct {
	ToCatalog[*Fleet]
	FleetID           FleetID
	Name, Description *string
	Protection        *bool         // FullProtection, of game sessions from then on
	CreatorLimit      *CreatorLimit // of game sessions from then on
	MetricGroups      []string
	Cost              *string // of an ANYWHERE fleet
}

// UpdateCapacity changes the process groups of a fleet in a location, the home location if empty. Nil leaves a value.
type UpdateCapacity struct {
	ToCatalog[*Fleet]
	FleetID           FleetID
	Location          string
	Desired, Min, Max *int
}

// Port is a port range in a fleet's settings, which the host only stores.
type Port struct {
	From, To        int
	Range, Protocol string
}

// UpdatePorts adds and removes port ranges.
type UpdatePorts struct {
	ToCatalog[*Fleet]
	FleetID     FleetID
	Add, Remove []Port
}

// AddFleetLocations adds locations to a fleet.
type AddFleetLocations struct {
	ToCatalog[*Fleet]
	FleetID   FleetID
	Locations []string
}

// RemoveFleetLocations takes locations from a fleet, and ends its game sessions there.
type RemoveFleetLocations struct {
	ToCatalog[*Fleet]
	FleetID   FleetID
	Locations []string
}

// FleetUseQuery asks for the use of fleets in a location, their home location if empty. Without ids: all fleets.
type FleetUseQuery struct {
	ToEveryHost[[]FleetUse]
	FleetIDs []FleetID
	Location string
}

// FleetUse is the capacity and the use of a fleet in one location.
type FleetUse struct {
	Fleet    *Fleet
	Location string
	// Process groups: desired, not ACTIVE yet, ACTIVE, ACTIVE without a game session, and more than desired.
	Groups                             Groups
	Pending, Active, Idle, Terminating int
	Processes                          int // ready or with a game session
	GameSessions                       int // ACTIVE
	Players, PlayersMax                int // player sessions of those: ACTIVE, and the maximum
}

// FleetRoom is how many game sessions a fleet has in a location, and could still start. Closed: it is scaled to 0 or being deleted.
type FleetRoom struct {
	FleetID            FleetID
	Location           string
	GameSessions, Free int
	Closed             bool
}

// FleetRoomQuery asks for all fleets' FleetRoom in all their locations, oldest fleets first, at most FleetRoomMax.
type FleetRoomQuery struct {
	ToThisHost[[]FleetRoom]
}

// FleetRoomMax bounds the answer to a FleetRoomQuery.
const FleetRoomMax = 500

// Instance is one process group of a fleet.
type Instance struct {
	ID                 string
	FleetID            FleetID
	Location           string
	Type               string
	Status             string // an InstanceStatus of the API
	IPAddress, DNSName string
	Created            time.Time
}

// InstanceQuery asks for a fleet's process groups in a location, its home location if empty.
type InstanceQuery struct {
	ToEveryHost[[]Instance]
	FleetID  FleetID
	Location string
}

// CreateAlias makes an alias: FleetID for SIMPLE routing, else Message for TERMINAL.
type CreateAlias struct {
	ToCatalog[*Alias]
	ID                AliasID // a new one: see WithID
	Name, Description string
	FleetID           FleetID
	Message           string
	Tags              map[string]string
}

// UpdateAlias changes the attributes of an alias that are not nil.
type UpdateAlias struct {
	ToCatalog[*Alias]
	ID                AliasID
	Name, Description *string
	Routing           *Routing
}

// DeleteAlias deletes an alias.
type DeleteAlias struct {
	ToCatalog[None]
	ID AliasID
}

// AliasQuery asks for one alias, or with an empty id for all, oldest first.
type AliasQuery struct {
	ToCatalog[[]*Alias]
	ID AliasID
}

// FleetQuery asks for all fleets, oldest first, TERMINATED ones for a while.
type FleetQuery struct{ ToCatalog[[]*Fleet] }

// DeleteFleet deletes a fleet and ends its game sessions.
type DeleteFleet struct {
	ToCatalog[None]
	ID FleetID
}

// FleetEventQuery asks for what happened to a fleet, oldest first.
type FleetEventQuery struct {
	ToCatalog[[]FleetEvent]
	ID FleetID
}

// CheckDestinations asks whether ARNs of fleets and aliases may be the destinations of one queue. The error is NotFound for unknown ones,
// and InvalidRequest for fleets that are being deleted, or if some fleets have certificates and others have not.
type CheckDestinations struct {
	ToCatalog[None]
	Destinations []string
}

// Routing is the target of an alias: a fleet, or no fleet and a message.
type Routing struct {
	FleetID FleetID
	Message string
}

// Resource names what can have tags: its kind as in ARNs (fleet, alias, script, location, gamesessionqueue), its id or name.
type Resource struct{ Kind, ID string }

// Route returns the owner of the resources of this kind.
func (r Resource) Route() Route {
	switch r.Kind {
	case "gamesessionqueue":
		return RoutePlacements
	case "matchmakingruleset", "matchmakingconfiguration":
		return RouteMatchmaking
	}
	return RouteCatalog
}

// TagQuery asks for the tags of a resource. A resource that is not known, or is of a kind without tags, is NotFound.
type TagQuery struct {
	answeredWith[map[string]string]
	Resource
}

// UpdateTags sets and removes tags, and is answered with all tags of the resource. Removing an unknown key is no error.
type UpdateTags struct {
	answeredWith[map[string]string]
	Resource Resource
	Set      map[string]string
	Remove   []string
}

// Route implements Request.
func (u UpdateTags) Route() Route { return u.Resource.Route() }

// TagsMax bounds the tags of one resource (service-api.md 2.11).
const TagsMax = 50

// ChangeTags returns the changed tags and leaves had alone; TaggingFailed if there are more than TagsMax.
func ChangeTags(had map[string]string, by UpdateTags) (map[string]string, error) {
	now := make(map[string]string, len(had)+len(by.Set))
	maps.Copy(now, had)
	maps.Copy(now, by.Set)
	for _, key := range by.Remove {
		delete(now, key)
	}
	if len(now) > TagsMax {
		return nil, Errorf(TaggingFailed, "a resource may have at most %d tags, it would have %d", TagsMax, len(now))
	}
	return now, nil
}

package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/ledger"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Options configure a Catalog. They must not change.
type Options struct {
	// Region is the home location of fleets that do not name locations. It always exists.
	Region string
	// Locations, Fleets, Aliases and Scripts are the configured resources.
	Locations []messages.Location
	Fleets    []*messages.Fleet
	Aliases   []*messages.Alias
	Scripts   []Script
	// ProcessesMax limits the number of processes of a fleet. GroupsMax limits the number of its process groups in one
	// location.
	ProcessesMax, GroupsMax int
	// Builds says what callers may do with builds.
	Builds BuildRules
	// Store holds the resources.
	Store store.Store
	// Listener receives the changes that affect processes and game sessions.
	Listener Listener
	// Follow, if it is not nil, makes the Catalog follow the decisions of a cluster's Leader. The Catalog then starts
	// empty, ignores the fleets, aliases, scripts and Store above, and answers queries only.
	Follow *Follow
}

// Script is a script with its content.
type Script struct {
	Record *messages.Script
	Bundle *bundle.Bundle
}

// Listener receives changes once they are durable and visible. It is called in the fleet actor and may call the
// Catalog. It must not change the records.
type Listener interface {
	// FleetChanged passes the new record of a fleet after any change.
	FleetChanged(f *messages.Fleet)
	// FleetConfigured says that a fleet with a script, or with a Server, should run the processes in its Runtime.
	FleetConfigured(f *messages.Fleet)
	// FleetOpened says that a fleet has become ACTIVE.
	FleetOpened(f *messages.Fleet)
	// CapacityChanged says that a fleet may host more or fewer game sessions in a location. An empty location means
	// that it may host more in any of its locations.
	CapacityChanged(f *messages.Fleet, location string)
	// LocationsRemoved says that locations were removed from a fleet. The fleet's game sessions there must end.
	LocationsRemoved(f *messages.Fleet, locations []string)
	// FleetClosed says that a fleet is DELETING. Its game sessions must end, and then Emptied must be called.
	FleetClosed(f *messages.Fleet)
	// ComputeGone says that a compute was deregistered. Its processes must end.
	ComputeGone(id messages.FleetID, name string)
	// FleetForgotten says that a TERMINATED fleet has been dropped.
	FleetForgotten(id messages.FleetID)
	// ContentChanged says that a script has new content. done must be called exactly once: as soon as each fleet runs
	// the content or has refused it (with the reasons), or after limit with pending set.
	ContentChanged(id messages.ScriptID, limit time.Duration, done func(refused []string, pending bool))
	// BuildChanged passes the new record of a build after any change. BuildDeleted says that there is no such build any
	// more, and no fleet of it that is not TERMINATED.
	BuildChanged(b *messages.Build)
	BuildDeleted(id messages.BuildID)
	// VersionRenamed says that the version name of a script's newest content has changed.
	VersionRenamed(id messages.ScriptID)
}

const (
	// scriptsMax and scriptBytesMax limit the memory of scripts. fleetsMax limits the number of fleets, terminatedMax
	// that of TERMINATED fleets.
	scriptsMax     = 1000
	scriptBytesMax = 1 << 30
	fleetsMax      = 1000
	terminatedMax  = 1000
	// aliasesMax, customMax, portsMax and fleetLocationsMax limit the number of other resources of the API.
	aliasesMax        = 1000
	customMax         = 1000
	portsMax          = 50
	fleetLocationsMax = 100
	// terminatedKeep is how long a TERMINATED fleet is kept (service-api.md 2.3).
	terminatedKeep = 24 * time.Hour
	// UpdateWait is how long the answer to an update waits for processes to run the new content.
	UpdateWait = 10 * time.Second
)

// Catalog owns the resources. Only one goroutine may use it: the caller of New until the fleet actor is spawned, and
// the fleet actor afterwards.
type Catalog struct {
	o         Options
	fleets    map[messages.FleetID]*fleet
	aliases   map[messages.AliasID]*messages.Alias
	scripts   map[messages.ScriptID]*script
	builds    map[messages.BuildID]*messages.Build
	locations map[string]messages.Location         // configured and custom locations
	computes  map[string]*messages.Compute         // by computeID
	issued    map[string]messages.ComputeAuth      // newest token of computes, in the clear; only since the start
	claimed   map[messages.FleetID][]messages.Port // ports of fleets of builds that are being stored
	deleted   []*fleet                             // TERMINATED fleets, in the order in which they ended
	creators  creators
	unread    store.Unread
	ledger    *ledger.Ledger
	storeLog  zerolog.Logger   // sampled log for failed commits; set once
	context   *stage.Context   // the fleet actor's context; nil until the actor has started
	follower  *follower        // nil if this catalog makes the decisions
	shared    bool             // other nodes follow the records in the store (see Leader)
	first     [][]store.Change // changes due to a cluster's configuration; committed when the Leader starts
}

// Messages from the catalog's ledger to the fleet actor. They have their own types because the game sessions have
// another ledger.
type (
	answered struct{ ledger.Answer }
	due      struct{ ledger.Due }
)

// New returns a Catalog with the resources of the configuration and the store. Damaged records do not cause an error
// (see Unread).
func New(o Options) (*Catalog, error) {
	if o.Follow != nil {
		o.Fleets, o.Aliases, o.Scripts, o.Store = nil, nil, nil, new(store.Memory)
	}
	return newCatalog(o, false)
}

func newCatalog(o Options, shared bool) (*Catalog, error) {
	c := &Catalog{
		shared: shared,
		o:      o, fleets: make(map[messages.FleetID]*fleet), aliases: make(map[messages.AliasID]*messages.Alias),
		scripts: make(map[messages.ScriptID]*script), builds: make(map[messages.BuildID]*messages.Build), locations: make(map[string]messages.Location),
		computes: make(map[string]*messages.Compute), issued: make(map[string]messages.ComputeAuth), claimed: make(map[messages.FleetID][]messages.Port),
	}
	c.ledger = ledger.New(ledger.Options{
		Store: o.Store, Log: &c.storeLog, Stopped: unavailable(),
		Tell:  func(msg any) { c.context.Self().Tell(answered{msg.(ledger.Answer)}) },
		After: func(d time.Duration, msg any) { c.context.After(d, due{msg.(ledger.Due)}) },
	})
	c.locations[o.Region] = messages.Location{Name: o.Region}
	for _, l := range o.Locations {
		c.locations[l.Name] = l
	}
	for _, s := range o.Scripts {
		c.scripts[s.Record.ID] = &script{record: s.Record, bundle: s.Bundle, configured: true}
	}
	for _, f := range o.Fleets {
		c.fleets[f.ID] = &fleet{record: f, configured: true}
	}
	for _, a := range o.Aliases {
		c.aliases[a.ID] = a
	}
	if o.Follow != nil {
		c.follower = &follower{Follow: *o.Follow, fleets: map[messages.FleetID]*messages.FleetReport{}, scripts: map[messages.ScriptID]*messages.ScriptReport{}}
	}
	return c, c.restore()
}

// Started must be called after the actor has started and before all other methods.
func (c *Catalog) Started(context *stage.Context) {
	c.storeLog = context.Log().Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Second})
	c.context = context
	c.tellDamage()
	c.dropComputes(func(m *messages.Compute) bool {
		_, err := c.living(m.FleetID)
		return err != nil && !c.unread.Has(store.Fleet, string(m.FleetID))
	})
}

// Stopped stops the ledger (see ledger.Ledger.Stop).
func (c *Catalog) Stopped(last bool) { c.ledger.Stop(last) }

// Unread returns the stored records that are ignored because they are damaged.
func (c *Catalog) Unread() *store.Unread { return &c.unread }

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

func exists[ID ~string](kind store.Kind, id ID) error {
	return messages.Errorf(messages.Conflict, "%s %s exists", kind, id)
}

// Ask answers a request about resources, possibly later. It returns false for other requests. Each change is a
// transaction of the ledger.
func (c *Catalog) Ask(a stage.Ask) bool {
	switch q := a.Request.(type) {
	case NewScript:
		c.onCreateScript(stage.As(q, a))
	case ChangeScript:
		c.onUpdateScript(stage.As(q, a))
	case messages.ScriptQuery:
		stage.As(q, a).Reply(c.describeScripts(q.ID))
	case messages.DeleteScript:
		c.onDeleteScript(stage.As(q, a))
	case messages.CreateBuild:
		c.onCreateBuild(stage.As(q, a))
	case messages.UpdateBuild:
		c.onUpdateBuild(stage.As(q, a))
	case messages.DeleteBuild:
		c.onDeleteBuild(stage.As(q, a))
	case messages.BuildQuery:
		stage.As(q, a).Reply(c.describeBuilds(q.ID))
	case messages.BuildUploaded:
		c.onBuildUploaded(stage.As(q, a))
	case messages.BuildUnpacked:
		c.onBuildUnpacked(stage.As(q, a))
	case messages.CreateFleet:
		c.onCreateFleet(stage.As(q, a))
	case messages.DeleteFleet:
		c.onDeleteFleet(stage.As(q, a))
	case messages.UpdateFleet:
		c.onUpdateFleet(stage.As(q, a))
	case messages.UpdateRuntime:
		c.onUpdateRuntime(stage.As(q, a))
	case messages.UpdateCapacity:
		c.onUpdateCapacity(stage.As(q, a))
	case messages.UpdatePorts:
		c.onUpdatePorts(stage.As(q, a))
	case messages.AddFleetLocations:
		c.onAddLocations(stage.As(q, a))
	case messages.RemoveFleetLocations:
		c.onRemoveLocations(stage.As(q, a))
	case messages.FleetQuery:
		stage.As(q, a).Reply(c.allFleets(func(f *fleet) *messages.Fleet { return f.record }), nil)
	case messages.FleetEventQuery:
		stage.As(q, a).Reply(c.fleetEvents(q.ID))
	case messages.CheckDestinations:
		stage.As(q, a).Reply(stage.None{}, c.CheckDestinations(q.Destinations))
	case messages.CreateAlias:
		c.onCreateAlias(stage.As(q, a))
	case messages.UpdateAlias:
		c.onUpdateAlias(stage.As(q, a))
	case messages.DeleteAlias:
		c.onDeleteAlias(stage.As(q, a))
	case messages.AliasQuery:
		stage.As(q, a).Reply(c.describeAliases(q.ID))
	case messages.CreateLocation:
		c.onCreateLocation(stage.As(q, a))
	case messages.DeleteLocation:
		c.onDeleteLocation(stage.As(q, a))
	case messages.LocationQuery:
		stage.As(q, a).Reply(c.allLocations(), nil)
	case messages.RegisterCompute:
		c.onRegisterCompute(stage.As(q, a))
	case messages.DeregisterCompute:
		c.onDeregisterCompute(stage.As(q, a))
	case messages.ComputeQuery:
		stage.As(q, a).Reply(c.describeComputes(q))
	case messages.AuthorizeCompute:
		c.onAuthorizeCompute(stage.As(q, a))
	case messages.UpdateTags:
		c.onUpdateTags(stage.As(q, a))
	case messages.TagQuery:
		stage.As(q, a).Reply(c.tags(q.Resource))
	default:
		return false
	}
	return true
}

// Receive handles the messages that Catalog sends to its actor. It returns false for others.
func (c *Catalog) Receive(msg any) bool {
	switch m := msg.(type) {
	case answered:
		c.ledger.Answered(m.Answer)
	case due:
		c.ledger.TryAgain(m.Due)
	default:
		return c.receiveFollower(msg)
	}
	return true
}

// Fleet returns the record of a fleet, or nil if there is none. In a cluster, the record contains only this node's
// share of the process groups.
func (c *Catalog) Fleet(id messages.FleetID) *messages.Fleet {
	if f := c.fleets[id]; f != nil {
		return c.ownOf(f)
	}
	return nil
}

func (c *Catalog) ownOf(f *fleet) *messages.Fleet {
	if c.follower != nil {
		return f.own
	}
	return f.record
}

// Fleets returns the records of all fleets, oldest first. The records are as in Fleet.
func (c *Catalog) Fleets() []*messages.Fleet { return c.allFleets(c.ownOf) }

func (c *Catalog) allFleets(record func(*fleet) *messages.Fleet) []*messages.Fleet {
	c.forgetFleets()
	all := make([]*messages.Fleet, 0, len(c.fleets))
	for _, f := range c.fleets {
		if !f.removed {
			all = append(all, record(f))
		}
	}
	slices.SortFunc(all, func(a, b *messages.Fleet) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Resolve returns the fleet with the given id, or the fleet of the given alias (service-api.md 2.4).
func (c *Catalog) Resolve(id messages.FleetID, alias messages.AliasID) (*messages.Fleet, error) {
	f, err := c.resolve(id, alias)
	if err != nil {
		return nil, err
	}
	return c.ownOf(f), nil
}

func (c *Catalog) resolve(id messages.FleetID, alias messages.AliasID) (*fleet, error) {
	c.forgetFleets()
	if alias != "" {
		a, err := c.alias(alias)
		if err != nil {
			return nil, err
		}
		if a.FleetID == "" {
			return nil, messages.Errorf(messages.TerminalRouting, "%s", a.Message)
		}
		id = a.FleetID
	}
	if f := c.fleets[id]; f != nil {
		return f, nil
	}
	return nil, c.unknown(store.Fleet, string(id))
}

// Location returns a location. An unknown location has no limits and no cost.
func (c *Catalog) Location(name string) messages.Location { return c.locations[name] }

// The following functions return the ledger keys of resources.
func fleetKey(id messages.FleetID) ledger.Key { return ledger.Key{Kind: store.Fleet, ID: string(id)} }
func scriptKey(id messages.ScriptID) ledger.Key {
	return ledger.Key{Kind: store.Script, ID: string(id)}
}
func aliasKey(id messages.AliasID) ledger.Key { return ledger.Key{Kind: store.Alias, ID: string(id)} }
func locationKey(name string) ledger.Key      { return ledger.Key{Kind: store.Location, ID: name} }

// locationKeys returns the keys of a fleet's new locations, which must not be deleted during the change.
func locationKeys(names []string) []ledger.Key {
	keys := make([]ledger.Key, len(names))
	for i, name := range names {
		keys[i] = locationKey(name)
	}
	return keys
}

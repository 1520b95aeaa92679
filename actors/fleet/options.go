package fleet

import (
	"cmp"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/store"
	"troupe/messages"
)

// Advertised is the address that game sessions give out to players.
type Advertised struct {
	IPAddress string // a literal; always set
	DNSName   string // empty if there is none
	Port      int    // of the reliable channel
}

// Options configure the registry. Values are set once.
type Options struct {
	// Region is the logical region, a part of the ids of game sessions.
	Region string
	// Locations are the locations that this host serves. Region is always one; it is listed only to set its bounds.
	Locations []messages.Location
	// Fleets have at least one location each.
	Fleets  []*messages.Fleet
	Aliases []*messages.Alias
	// Advertised is the address for players of a fleet, Secured the one for players of a fleet with certificates.
	Advertised, Secured Advertised
	// Session are the settings of all game sessions.
	Session gamesession.Settings
	// NewHandler returns the handler of a new game session of a fleet without a script.
	NewHandler func(f *messages.Fleet) script.Handler
	// NewProgram: see hosting.Options.
	NewProgram func(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error)
	// OpenLog opens the log of a game session; nil: the host's log.
	OpenLog func(id messages.GameSessionID, f *messages.Fleet) script.Sink
	// Store keeps game sessions and player sessions; nil: memory. Catalog keeps the other resources; nil: in Store.
	Store, Catalog store.Store
	// Follow makes the host a node of a cluster, whose resources it gets from elsewhere; nil: it is none. Then Fleets, Aliases, Scripts and
	// Catalog are not used.
	Follow *catalog.Follow
	// Directory records which node of a cluster runs a game session; nil: the host is alone.
	Directory Directory
	// OnEvent receives events once they are durable, from any goroutine; may be nil.
	OnEvent func(messages.Event)
	// OwnEvents switches on events of game sessions and player sessions.
	OwnEvents bool
	// Crash is the first line of what the process before this one has said when it crashed, maybe from a script; "" if it did not.
	Crash string
	// Scripts exist from the start.
	Scripts []catalog.Script
	// ProcessesMax bounds the processes of a fleet that was created through the API (service-api.md 2.3).
	ProcessesMax int
	// EndEarlier makes game sessions of earlier contents accept no new players once a newer content runs, and end when they are empty.
	EndEarlier bool
	// GroupsMax bounds the process groups of a fleet in one location.
	GroupsMax int
	// EndedMax bounds the ended game sessions that are kept, and EndedKeep the time for which they are (service-api.md 2.6).
	EndedMax  int
	EndedKeep time.Duration
}

// Directory records which node of a cluster runs a game session. Its methods are called in the fleet actor, and must not block.
type Directory interface {
	// Claim records a new game session of this node. Done is called once, from any goroutine. It gets a messages.Conflict if another node
	// has claimed it, and messages.Internal if nobody knows.
	Claim(g *messages.GameSession, fingerprint [32]byte, done func(error))
	// End says that a game session, which may not be recorded yet, has ended.
	End(id messages.GameSessionID)
}

// Defaults of Options.
const (
	DefaultProcessesMax = 50 // as GameLift
	DefaultGroupsMax    = 10
	DefaultEndedMax     = 100_000
	DefaultEndedKeep    = 30 * 24 * time.Hour
)

const (
	// activationTimeout is the time within which a game session must become ACTIVE, unless its fleet sets another (D-205).
	activationTimeout = 300 * time.Second
	// endedBytesMax bounds the estimated memory of ended game sessions: endedBytes, data, and playerSessionBytes for each player.
	endedBytesMax      = 512 << 20
	endedBytes         = 2 << 10
	playerSessionBytes = 300
)

// Resources returns the options of a catalog with records of a store.
func (o Options) Resources(records store.Store) catalog.Options {
	o.setDefaults()
	return catalog.Options{
		Region: o.Region, Locations: o.Locations, Fleets: o.Fleets, Aliases: o.Aliases, Scripts: o.Scripts,
		ProcessesMax: o.ProcessesMax, GroupsMax: o.GroupsMax, Store: records,
	}
}

func (o *Options) setDefaults() {
	o.ProcessesMax, o.GroupsMax = cmp.Or(o.ProcessesMax, DefaultProcessesMax), cmp.Or(o.GroupsMax, DefaultGroupsMax)
	o.EndedMax, o.EndedKeep = cmp.Or(o.EndedMax, DefaultEndedMax), cmp.Or(o.EndedKeep, DefaultEndedKeep)
	if o.Store == nil {
		o.Store = new(store.Memory)
	}
	if o.Catalog == nil {
		o.Catalog = o.Store
	}
}

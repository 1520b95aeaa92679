package fleet

import (
	"cmp"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/serverprocess/builds"
	"troupe/actors/serverprocess/launch"
	"troupe/actors/store"
	"troupe/messages"
)

// Advertised is the address that game sessions give to players.
type Advertised struct {
	IPAddress string // an IP address literal; always set
	DNSName   string // empty if there is none
	Port      int    // port of the reliable channel
}

// Options configure the registry. They must not change.
type Options struct {
	// Region is the logical region. It is part of the ids of game sessions.
	Region string
	// Locations are the locations that this host serves. Region is always one of them; list it only to set its limits.
	Locations []messages.Location
	// Fleets are the configured fleets. Each has at least one location.
	Fleets  []*messages.Fleet
	Aliases []*messages.Alias
	// Advertised is the address for players of most fleets. Secured is the address for players of fleets with
	// certificates.
	Advertised, Secured Advertised
	// Session are the settings of all game sessions.
	Session gamesession.Settings
	// NewHandler returns the handler of a new game session of a fleet without a script.
	NewHandler func(f *messages.Fleet) script.Handler
	// NewProgram is described in hosting.Options.
	NewProgram func(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error)
	// OpenLog opens the log of a game session. If it is nil, the host's log is used.
	OpenLog func(id messages.GameSessionID, f *messages.Fleet) script.Sink
	// Launch starts the processes of fleets with a Server. The registry sets Log, Counters and Tell. If it is nil, such
	// fleets have no processes.
	Launch *launch.Options
	// Builds unpacks builds on this host. The registry sets Log and Tell. If it is nil, fleets of builds have no processes.
	Builds *builds.Options
	// BuildRules says what callers of the API may do with builds.
	BuildRules catalog.BuildRules
	// Store holds game sessions and player sessions. If it is nil, they are kept in memory only. Catalog holds the
	// other resources. If it is nil, they are in Store.
	Store, Catalog store.Store
	// Follow makes the host a node of a cluster, which gets its resources from the cluster's Leader. Fleets, Aliases,
	// Scripts and Catalog are then not used. If Follow is nil, the host is not part of a cluster.
	Follow *catalog.Follow
	// Directory records which node of a cluster runs a game session. It is nil if the host is not part of a cluster.
	Directory Directory
	// OnEvent receives events once they are durable. It is called from any goroutine and may be nil.
	OnEvent func(messages.Event)
	// OwnEvents enables events about game sessions and player sessions.
	OwnEvents bool
	// Crash is the first line of the crash report of the previous process. The crash may have been caused by a script.
	// Crash is "" if the process did not crash.
	Crash string
	// Scripts are the configured scripts.
	Scripts []catalog.Script
	// ProcessesMax limits the number of processes of a fleet that was created through the API (service-api.md 2.3).
	ProcessesMax int
	// EndEarlier affects game sessions that run earlier content of a script. Once newer content runs, they accept no
	// more players, and they end when they are empty.
	EndEarlier bool
	// GroupsMax limits the number of process groups of a fleet in one location.
	GroupsMax int
	// EndedMax limits how many ended game sessions are kept, and EndedKeep limits how long (service-api.md 2.6).
	EndedMax  int
	EndedKeep time.Duration
}

// Directory records which node of a cluster runs a game session. Its methods are called in the fleet actor and must not
// block.
type Directory interface {
	// Claim records a new game session of this node. done is called exactly once, from any goroutine. Its error has the
	// code messages.Conflict if another node has claimed the game session, and messages.Internal if the result is
	// unknown.
	Claim(g *messages.GameSession, fingerprint [32]byte, done func(error))
	// End says that a game session has ended. The game session may not have been recorded yet. created is false if its
	// creation was refused.
	End(id messages.GameSessionID, created bool)
}

// Defaults of Options.
const (
	DefaultProcessesMax = 50 // as in GameLift
	DefaultGroupsMax    = 10
	DefaultEndedMax     = 100_000
	DefaultEndedKeep    = 30 * 24 * time.Hour
)

const (
	// activationTimeout is the time limit for a game session to become ACTIVE, unless its fleet sets another limit
	// (D-205).
	activationTimeout = 300 * time.Second
	// endedBytesMax limits the estimated memory of all ended game sessions. The estimate for each is endedBytes plus
	// its data plus playerSessionBytes per player.
	endedBytesMax      = 512 << 20
	endedBytes         = 2 << 10
	playerSessionBytes = 400
)

// Resources returns the options of a catalog whose records are in the given store.
func (o Options) Resources(records store.Store) catalog.Options {
	o.setDefaults()
	return catalog.Options{
		Region: o.Region, Locations: o.Locations, Fleets: o.Fleets, Aliases: o.Aliases, Scripts: o.Scripts,
		ProcessesMax: o.ProcessesMax, GroupsMax: o.GroupsMax, Builds: o.BuildRules, Store: records,
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

package fleet

import (
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
	// Locations are the locations that this host serves. Region is always one; it is listed
	// only to set its bounds.
	Locations []messages.Location
	// Fleets have at least one location each.
	Fleets  []*messages.Fleet
	Aliases []*messages.Alias
	// Advertised is the address for players of a fleet, Secured the one for players of a
	// fleet with certificates.
	Advertised, Secured Advertised
	// Session are the settings of all game sessions.
	Session gamesession.Settings
	// NewHandler returns the handler of a new game session of a fleet without a script.
	NewHandler func(f *messages.Fleet) script.Handler
	// NewProgram loads a program from the files of a script, for processes of f. Entry is
	// the file to run. It may take long, and is called from any goroutine.
	NewProgram func(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error)
	// OpenLog opens the log of a game session; nil: the host's log.
	OpenLog func(id messages.GameSessionID, f *messages.Fleet) script.Sink
	// Store keeps game sessions and player sessions; nil: memory. Catalog keeps the other
	// resources; nil: in Store. The registry closes neither.
	Store, Catalog store.Store
	// OnEvent receives events once they are durable, from any goroutine; may be nil.
	OnEvent func(messages.Event)
	// OwnEvents switches on events of game sessions and player sessions.
	OwnEvents bool
	// Crash is the first line of what the process of the host before this one has said when it crashed; "" if it did
	// not. It may come from a script: see hosting.
	Crash string
	// Scripts exist from the start.
	Scripts []catalog.Script
	// ProcessesMax bounds the processes of a fleet that was created through the API; 0: 50
	// (service-api.md 2.3).
	ProcessesMax int
	// EndEarlier makes game sessions of earlier contents accept no new players once a newer
	// content runs, and end when they are empty.
	EndEarlier bool
	// GroupsMax bounds the process groups of a fleet in one location; 0: 10.
	GroupsMax int
	// EndedMax bounds the ended game sessions that are kept, and EndedKeep the time for
	// which they are (service-api.md 2.6: 30 days).
	EndedMax  int
	EndedKeep time.Duration
}

const (
	// DefaultProcessesMax is GameLift's bound on the processes of a fleet.
	DefaultProcessesMax = 50
	// DefaultGroupsMax bounds the process groups of a fleet in one location.
	DefaultGroupsMax = 10
	// activationTimeout is the time within which a game session must become ACTIVE, unless
	// its fleet sets another (D-205).
	activationTimeout = 300 * time.Second
	// endedBytesMax bounds the estimated memory of ended game sessions: endedBytes and its
	// data for each, and playerSessionBytes for each player session.
	endedBytesMax      = 512 << 20
	endedBytes         = 2 << 10
	playerSessionBytes = 300
)

// DefaultEndedMax and DefaultEndedKeep are the defaults of EndedMax and EndedKeep.
const (
	DefaultEndedMax  = 100_000
	DefaultEndedKeep = 30 * 24 * time.Hour
)

// setDefaults sets the defaults of options that are zero.
func (o *Options) setDefaults() {
	for option, value := range map[*int]int{&o.EndedMax: DefaultEndedMax, &o.ProcessesMax: DefaultProcessesMax, &o.GroupsMax: DefaultGroupsMax} {
		if *option <= 0 {
			*option = value
		}
	}
	if o.EndedKeep <= 0 {
		o.EndedKeep = DefaultEndedKeep
	}
	if o.Store == nil {
		o.Store = new(store.Memory)
	}
	if o.Catalog == nil {
		o.Catalog = o.Store
	}
}

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
	// Region names the logical region; it stands in the ids of game sessions.
	Region string
	// Locations are those that this host stands for, besides Region, which it may bound.
	Locations []messages.Location
	// Fleets have at least one location each.
	Fleets  []*messages.Fleet
	Aliases []*messages.Alias
	// Advertised is where players of a fleet connect to, Secured where those of a
	// fleet with certificates do.
	Advertised, Secured Advertised
	// Session are the settings of all game sessions.
	Session gamesession.Settings
	// NewHandler makes the logic of one new game session of a fleet without a script.
	NewHandler func(f *messages.Fleet) script.Handler
	// NewProgram makes a program of a script whose entry is one of its files, for
	// processes of f. It may take its time, and is called from any goroutine.
	NewProgram func(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error)
	// OpenLog opens the log of a game session; nil: they write to the host's.
	OpenLog func(id messages.GameSessionID, f *messages.Fleet) script.Sink
	// Store keeps what has been answered of game sessions and player sessions; nil: memory. Catalog
	// keeps that of the other resources; nil: Store does. The registry closes neither.
	Store, Catalog store.Store
	// OnEvent takes events once they are durable, from any goroutine; nil: nobody does.
	OnEvent func(messages.Event)
	// OwnEvents has events of game sessions and player sessions made.
	OwnEvents bool
	// Scripts are there from the start.
	Scripts []catalog.Script
	// ProcessesMax bounds the processes of a fleet that the API makes; 0: 50
	// (service-api.md 2.3).
	ProcessesMax int
	// EndEarlier has game sessions of earlier contents take no new players once a new one
	// runs, and end when they have none.
	EndEarlier bool
	// GroupsMax bounds the process groups of a fleet in one location; 0: 10.
	GroupsMax int
	// EndedMax is how many ended game sessions are remembered, EndedKeep for how
	// long (service-api.md 2.6: 30 days).
	EndedMax  int
	EndedKeep time.Duration
}

const (
	// DefaultProcessesMax is the vendor's bound on processes of a fleet.
	DefaultProcessesMax = 50
	// DefaultGroupsMax bounds the process groups of a fleet in one location.
	DefaultGroupsMax = 10
	// activationTimeout is how long a game session may take to be ACTIVE where its
	// fleet does not say (D-205).
	activationTimeout = 300 * time.Second
	// endedBytesMax bounds what ended game sessions hold in memory; each is counted with
	// endedBytes and its data, and seatBytes for each of its player sessions.
	endedBytesMax = 512 << 20
	endedBytes    = 2 << 10
	seatBytes     = 300
)

// DefaultEndedMax and DefaultEndedKeep bound the memory of ended game sessions.
const (
	DefaultEndedMax  = 100_000
	DefaultEndedKeep = 30 * 24 * time.Hour
)

// setDefaults fills in what is not set.
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

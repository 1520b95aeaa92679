package fleet

import (
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/script"
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
	// Fleets have at least one location each.
	Fleets  []*messages.Fleet
	Aliases []*messages.Alias
	// Advertised is where players of a fleet connect to, Secured where those of a
	// fleet with certificates do.
	Advertised, Secured Advertised
	// Session are the settings of all game sessions.
	Session gamesession.Settings
	// NewHandler makes the logic of one new game session of a fleet.
	NewHandler func(f *messages.Fleet) script.Handler
	// OpenLog opens the log of a game session; nil: they write to the host's.
	OpenLog func(id messages.GameSessionID, f *messages.Fleet) script.Sink
	// OnStuck is called once, when so many scripts cannot be stopped that the
	// process should drain and end. Nil does nothing.
	OnStuck func()
	// EndedMax is how many ended game sessions are remembered, EndedKeep for how
	// long (service-api.md 2.6: 30 days).
	EndedMax  int
	EndedKeep time.Duration
}

// DefaultEndedMax and DefaultEndedKeep bound the memory of ended game sessions.
const (
	DefaultEndedMax  = 10_000
	DefaultEndedKeep = 30 * 24 * time.Hour
)

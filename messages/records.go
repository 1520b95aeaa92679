package messages

import "time"

// Shown rounds a time to milliseconds, the precision of times in API answers, events and searches.
func Shown(t time.Time) time.Time { return t.Round(time.Millisecond) }

// EventTime formats a time for events: ISO 8601 with milliseconds, in UTC.
func EventTime(t time.Time) string { return Shown(t).UTC().Format("2006-01-02T15:04:05.000Z") }

// Property is one game property. The key has up to 32 characters, the value up to 96 (service-api.md 2.6).
type Property struct{ Key, Value string }

// GameSession is the record of a game session at one moment. It is immutable.
type GameSession struct {
	ID                 GameSessionID
	FleetID            FleetID
	Location           string
	Name               string
	CreatorID          string
	Data               string
	MatchmakerData     string
	Properties         []Property
	MaxPlayers         int
	CurrentPlayers     int // number of player sessions that are RESERVED or ACTIVE
	Status             GameSessionStatus
	StatusReason       string // empty, or a GameSessionStatusReason of the API
	AcceptsPlayers     bool   // PlayerSessionCreationPolicy ACCEPT_ALL
	Protected          bool   // ProtectionPolicy FullProtection: the game session survives a scale-down
	IdempotencyToken   string
	Created            time.Time
	Terminated         time.Time // zero until the game session has ended
	EndText            string    // reason why the game session ended, for logs and operators
	ScriptVersion      string    // version of the script that runs the game session; empty without a script
	IPAddress, DNSName string
	Port               int
	Node               string // name of the node that runs the game session, or ran it; empty without a cluster
}

// PlayerSession is the record of a player session at one moment. It is immutable.
type PlayerSession struct {
	ID            PlayerSessionID
	PlayerID      PlayerID
	PlayerData    string
	GameSessionID GameSessionID
	FleetID       FleetID
	Status        PlayerSessionStatus
	Created       time.Time
	Terminated    time.Time // zero until the status is final
	IPAddress     string
	DNSName       string
	Port          int
	Node          string // that of the game session
}

// Fleet is the record of a fleet. It is immutable.
type Fleet struct {
	ID              FleetID
	Name            string
	Description     string
	Status          FleetStatus
	Created         time.Time
	Terminated      time.Time   // zero until the fleet is TERMINATED
	Locations       []string    // the first one is the home location
	GameSessionsMax int         // the operator's limit per location and process group; 0 means the limit that follows from Runtime
	Certificates    bool        // CertificateType GENERATED: game sessions announce secure ports
	Anywhere        bool        // the fleet's processes run elsewhere
	Server          *GameServer `json:",omitempty"` // the hosts start the fleet's processes; nil for other fleets
	ScriptID        ScriptID
	BuildID         BuildID              `json:",omitempty"` // the fleet runs a build: Server.Path is relative to its folder, and each host sets User and MemoryMax
	Runtime         RuntimeConfiguration // only for a fleet with a script or a Server
	Engine          string               // "embedded" or "node"; if empty, the script decides
	Standby         int                  // number of stand-by processes; a negative number means the engine's default
	LaunchPath      string
	LaunchParams    string
	ReconnectWindow *time.Duration     // reconnect window of the fleet's game sessions; nil means the host's
	Cost            float64            // cost per hour; 0 means that of the location
	Costs           map[string]float64 // cost per hour by location; takes precedence over Cost
	Groups          map[string]Groups  // by location (see GroupsIn)
	CreatorLimit    *CreatorLimit      // ResourceCreationLimitPolicy; nil if there is none
	Ports           []Port
	Shown           FleetShown
	Tags            map[string]string
	Call            string `json:",omitempty"` // see WithID
}

// OnProcesses reports whether the fleet's game sessions run in processes that speak the Server SDK.
func (f *Fleet) OnProcesses() bool { return f.Anywhere || f.Server != nil }

// CreatorLimit limits how many game sessions a creator may create on a fleet within a period. If either field is 0,
// there is no limit.
type CreatorLimit struct {
	PerPeriod int
	Period    time.Duration
}

// Alias is an alias. It has a FleetID for SIMPLE routing or a Message for TERMINAL routing. It is immutable.
type Alias struct {
	ID          AliasID
	Name        string
	Description string
	FleetID     FleetID
	Message     string
	Created     time.Time
	Updated     time.Time // zero until the first update
	Tags        map[string]string
	Call        string `json:",omitempty"` // see WithID
}

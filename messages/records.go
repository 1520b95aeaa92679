package messages

import "time"

// Shown rounds to milliseconds, as API answers, events and searches show times.
func Shown(t time.Time) time.Time { return t.Round(time.Millisecond) }

// EventTime returns a time as events show it: ISO 8601 with milliseconds, in UTC.
func EventTime(t time.Time) string { return Shown(t).UTC().Format("2006-01-02T15:04:05.000Z") }

// Property is one game property: key up to 32, value up to 96 characters (service-api.md 2.6).
type Property struct{ Key, Value string }

// GameSession is the record of a game session at one moment. Immutable.
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
	CurrentPlayers     int // player sessions RESERVED or ACTIVE
	Status             GameSessionStatus
	StatusReason       string // empty, or a GameSessionStatusReason of the API
	AcceptsPlayers     bool   // PlayerSessionCreationPolicy ACCEPT_ALL
	Protected          bool   // ProtectionPolicy FullProtection: it survives a scale-down
	IdempotencyToken   string
	Created            time.Time
	Terminated         time.Time // zero while alive
	EndText            string    // why it ended, for logs and operators
	ScriptVersion      string    // of the script that runs it; empty without one
	IPAddress, DNSName string
	Port               int
}

// PlayerSession is the record of a player session at one moment. Immutable.
type PlayerSession struct {
	ID            PlayerSessionID
	PlayerID      PlayerID
	PlayerData    string
	GameSessionID GameSessionID
	FleetID       FleetID
	Status        PlayerSessionStatus
	Created       time.Time
	Terminated    time.Time // zero until Final
	IPAddress     string
	DNSName       string
	Port          int
}

// Fleet is the record of a fleet. Immutable.
type Fleet struct {
	ID              FleetID
	Name            string
	Description     string
	Status          FleetStatus
	Created         time.Time
	Terminated      time.Time // zero until then
	Locations       []string  // the first is the home location
	GameSessionsMax int       // the operator's limit per location and process group; 0: that of Runtime
	Certificates    bool      // CertificateType GENERATED: secure ports are announced
	Anywhere        bool      // its processes run elsewhere
	ScriptID        ScriptID
	Runtime         RuntimeConfiguration // of a fleet with a script
	Engine          string               // embedded or node; empty: the script chooses
	Standby         int                  // stand-by processes; negative: the default of the engine
	LaunchPath      string
	LaunchParams    string
	ReconnectWindow *time.Duration     // of its game sessions; nil: the host's
	Cost            float64            // per hour; 0: that of the location
	Costs           map[string]float64 // per location, before Cost
	Groups          map[string]Groups  // per location; see GroupsIn
	CreatorLimit    *CreatorLimit      // ResourceCreationLimitPolicy; nil: none
	Ports           []Port
	Shown           FleetShown
	Tags            map[string]string
}

// CreatorLimit bounds the game sessions that a creator makes on a fleet within a period; 0 in either field is no limit.
type CreatorLimit struct {
	PerPeriod int
	Period    time.Duration
}

// Alias is an alias: FleetID for SIMPLE routing, Message for TERMINAL. Immutable.
type Alias struct {
	ID          AliasID
	Name        string
	Description string
	FleetID     FleetID
	Message     string
	Created     time.Time
	Updated     time.Time // zero until the first update
	Tags        map[string]string
}

package messages

import "time"

// ScriptID is `script-<name or uuid>`.
type ScriptID string

// Node versions that a script may request (service-api.md 2.5).
const (
	NodeVersion10 = "10.x"
	NodeVersion24 = "24.x"
)

// Script is the record of a script at one moment. It is immutable.
type Script struct {
	ID          ScriptID
	Name        string
	Version     string // the version name given by the caller
	NodeVersion string // never changes
	Size        int64  // size of the archive in bytes
	Created     time.Time
	Contents    int // number of the newest content; the first has number 1
	Tags        map[string]string
	Call        string `json:",omitempty"` // see WithID
}

// CreateScript creates a script from an archive.
type CreateScript struct {
	ToCatalog[*Script]
	ID            ScriptID // a new id (see WithID)
	Name, Version string
	NodeVersion   string // empty means 10.x
	Zip           []byte
	Tags          map[string]string
	Call          string // see WithID
}

// UpdateScript changes those attributes that are not empty. It is answered when new game sessions run the new content,
// when the content has turned out not to run, or when Wait is over.
type UpdateScript struct {
	ToCatalog[UpdatedScript]
	ID            ScriptID
	Name, Version string
	Zip           []byte
	Wait          time.Duration // 0 means 10 s
}

// UpdatedScript is the answer to UpdateScript. New game sessions run the new content if Refused is empty and Loading is
// false.
type UpdatedScript struct {
	Script  *Script
	Refused []string // reasons why processes do not run the new content
	Loading bool     // some process is still being started
}

// DeleteScript deletes a script. The error is InvalidRequest if a fleet uses the script.
type DeleteScript struct {
	ToCatalog[None]
	ID ScriptID
}

// ScriptQuery requests one script. An empty id requests all scripts, oldest first.
type ScriptQuery struct {
	ToCatalog[[]*Script]
	ID ScriptID
}

// ScriptsLoaded is answered when this host is not loading any script.
type ScriptsLoaded struct{ ToThisHost[None] }

// ServerProcess is an entry of a runtime configuration: a launch path and the number of processes.
type ServerProcess struct {
	LaunchPath string
	Parameters string
	Concurrent int // number of processes
}

// RuntimeConfiguration describes the processes of a fleet.
type RuntimeConfiguration struct {
	Processes         []ServerProcess
	ActivatingMax     int           // maximum number of game sessions that are ACTIVATING at the same time; 0 means no limit
	ActivationTimeout time.Duration // 0 means the default
}

// CreateFleet creates a fleet for a script or a build. The API has already checked lengths and patterns.
type CreateFleet struct {
	ToCatalog[*Fleet]
	ID                FleetID // a new id (see WithID)
	Name, Description string
	ScriptID          ScriptID
	BuildID           BuildID
	LaunchPath        string // launch path of the fleet's single process if Runtime has no processes
	LaunchParams      string
	Runtime           RuntimeConfiguration
	Certificates      bool
	Anywhere          bool // the fleet's processes run elsewhere: no script, no home location
	Locations         []string
	CreatorLimit      *CreatorLimit // nil means no limit policy
	Ports             []Port
	Shown             FleetShown
	Tags              map[string]string
	Call              string // see WithID
}

// FleetShown holds attributes of a fleet that the host only stores and shows.
type FleetShown struct {
	InstanceType    string
	FleetType       string
	Protection      bool // FullProtection
	LogPaths        []string
	MetricGroups    []string
	RoleARN         string
	RoleCredentials string
	Cost            string // only for an ANYWHERE fleet
}

// FleetEvent is an event of a fleet.
type FleetEvent struct {
	ID      string
	Code    string // an EventCode of the API
	Message string
	Time    time.Time // time of the last occurrence
	Count   int       // number of occurrences with this code and message, at most 101
}

// UpdateRuntime replaces a fleet's runtime configuration.
type UpdateRuntime struct {
	ToCatalog[*Fleet]
	FleetID FleetID
	Runtime RuntimeConfiguration
}

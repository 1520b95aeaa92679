package messages

import "time"

// ScriptID is `script-<name or uuid>`.
type ScriptID string

// Node versions that a script may ask for (service-api.md 2.5).
const (
	NodeVersion10 = "10.x"
	NodeVersion24 = "24.x"
)

// Script is the record of a script at one moment. Immutable.
type Script struct {
	ID          ScriptID
	Name        string
	Version     string // as the caller named it
	NodeVersion string // never changes
	Size        int64  // bytes of the archive
	Created     time.Time
	Contents    int // how many contents it has had; counts from 1
	Tags        map[string]string
}

// CreateScript creates a script from an archive.
type CreateScript struct {
	ToCatalog[*Script]
	ID            ScriptID // a new one: see WithID
	Name, Version string
	NodeVersion   string // empty: 10.x
	Zip           []byte
	Tags          map[string]string
}

// UpdateScript changes what is not empty. The answer: new game sessions run the content, it turned out not to run, or Wait is over.
type UpdateScript struct {
	ToCatalog[UpdatedScript]
	ID            ScriptID
	Name, Version string
	Zip           []byte
	Wait          time.Duration // 0: 10 s
}

// UpdatedScript is the answer to UpdateScript. If Refused is empty and Loading is false, new game sessions run the new content.
type UpdatedScript struct {
	Script  *Script
	Refused []string // reasons why processes do not run the new content
	Loading bool     // some process is still being started
}

// DeleteScript deletes a script. One that a fleet uses is InvalidRequest.
type DeleteScript struct {
	ToCatalog[None]
	ID ScriptID
}

// ScriptQuery asks for one script, or with an empty id for all, oldest first.
type ScriptQuery struct {
	ToCatalog[[]*Script]
	ID ScriptID
}

// ScriptsLoaded is answered once this host is loading no script.
type ScriptsLoaded struct{ ToThisHost[None] }

// ServerProcess is a launch path of a runtime configuration and its number of processes.
type ServerProcess struct {
	LaunchPath string
	Parameters string
	Concurrent int // how many of them
}

// RuntimeConfiguration describes the processes of a fleet.
type RuntimeConfiguration struct {
	Processes         []ServerProcess
	ActivatingMax     int           // game sessions that activate at a time; 0: no bound
	ActivationTimeout time.Duration // 0: the default
}

// CreateFleet creates a fleet for a script. The API has checked lengths and patterns.
type CreateFleet struct {
	ToCatalog[*Fleet]
	ID                FleetID // a new one: see WithID
	Name, Description string
	ScriptID          ScriptID
	LaunchPath        string // of its one process, if Runtime has no processes
	LaunchParams      string
	Runtime           RuntimeConfiguration
	Certificates      bool
	Anywhere          bool // processes elsewhere: no script, no home location
	Locations         []string
	CreatorLimit      *CreatorLimit // nil: none
	Ports             []Port
	Shown             FleetShown
	Tags              map[string]string
}

// FleetShown holds attributes of a fleet that the host stores and shows but does not use.
type FleetShown struct {
	InstanceType    string
	FleetType       string
	Protection      bool // FullProtection
	LogPaths        []string
	MetricGroups    []string
	RoleARN         string
	RoleCredentials string
	Cost            string // of an ANYWHERE fleet
}

// FleetEvent is something that happened to a fleet.
type FleetEvent struct {
	ID      string
	Code    string // an EventCode of the API
	Message string
	Time    time.Time // of the last one
	Count   int       // how many with this code and message, at most 101
}

// UpdateRuntime replaces a fleet's runtime configuration.
type UpdateRuntime struct {
	ToCatalog[*Fleet]
	FleetID FleetID
	Runtime RuntimeConfiguration
}

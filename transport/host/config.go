package host

import (
	"time"

	"troupe/actors/fleet"
	"troupe/actors/script/bundle"
	"troupe/transport/awswire"
)

// Config is everything an operator may choose. Each field's key is its path of
// `config` tags, for example reconnect.window. Start from Defaults.
type Config struct {
	API       API        `config:"api"`
	WebSocket WebSocket  `config:"websocket"`
	Fast      Fast       `config:"fast"`
	WSS       WSS        `config:"wss"`
	DTLS      DTLS       `config:"dtls"`
	KCP       KCP        `config:"kcp"`
	TLS       TLS        `config:"tls"`
	Public    Public     `config:"public"`
	Region    string     `config:"region"`    // API region, part of all ids; letters, digits, hyphens
	Account   string     `config:"account"`   // 12 digits, part of ARNs
	Locations []Location `config:"locations"` // that this host stands for, besides region
	Fleets    []Fleet    `config:"fleets"`
	Aliases   []Alias    `config:"aliases"`
	Queues    []Queue    `config:"queues"`
	Store     Store      `config:"store"`
	Events    Events     `config:"events"`
	Reconnect Reconnect  `config:"reconnect"`
	Session   Session    `config:"session"`
	Script    Script     `config:"script"`
	Limits    Limits     `config:"limits"`
	Flush     Flush      `config:"flush"`
	Drain     Drain      `config:"drain"`
	Workers   int        `config:"workers"` // shards of actors; 0 is one per CPU
	Announce  string     `config:"announce"`
	Log       Log        `config:"log"`
}

// API is the listener of the service API, health and metrics.
type API struct {
	Addr string `config:"addr"` // host:port, port 0 for any; off loopback only with sigv4
	// Auth is sigv4, none (anybody who reaches it may call) or empty: sigv4 where there
	// are keys, and none where every listener is on loopback.
	Auth                 string        `config:"auth"`
	Keys                 []APIKey      `config:"keys"`
	Skew                 time.Duration `config:"skew"`                 // how far a caller's clock may be off
	TrustLoopback        bool          `config:"trustLoopback"`        // /events and /debug need no key from this machine although there are keys: nothing on it may pass others on
	AllowUnsignedPayload bool          `config:"allowUnsignedPayload"` // bodies outside of the signature without TLS, too
	Rate                 float64       `config:"rate"`                 // calls a second per key; 0 is no limit
	Burst                int           `config:"burst"`                // calls at once per key
	TLS                  bool          `config:"tls"`                  // https, with the certificate of the secured listeners
	Insecure             bool          `config:"insecure"`             // off loopback without TLS: something in front of it has to encrypt
	Proxies              []string      `config:"proxies"`              // addresses and networks of balancers that send PROXY protocol v2 headers, which they must
}

// APIKey is an access key of the service API. The secret comes from one of three
// places.
type APIKey struct {
	ID           string   `config:"id"`
	Secret       string   `config:"secret"`       // nobody but the owner may have access to the configuration file then
	SecretFile   string   `config:"secretFile"`   // its text; nobody but the owner may have access
	SecretEnv    string   `config:"secretEnv"`    // name of an environment variable, not beginning with TROUPE_
	SessionToken string   `config:"sessionToken"` // that callers must show, if set
	Allow        []string `config:"allow"`        // operations, like gamelift:Describe*; empty: all
	Rate         float64  `config:"rate"`         // 0: api.rate; -1: no limit
	Burst        int      `config:"burst"`        // 0: api.burst
}

// WebSocket is the reliable channel without TLS.
type WebSocket struct {
	Addr              string `config:"addr"`              // host:port, port 0 for any
	EmptyCloseIsLeave bool   `config:"emptyCloseIsLeave"` // a close frame without a code, as browsers send it, is a leave
	// Proxies are addresses and networks of balancers: a connection from one must
	// begin with a PROXY protocol v2 header, and its client answers for it. Also for
	// wss.
	Proxies []string `config:"proxies"`
}

// Fast is the fast channel over plain UDP.
type Fast struct {
	Addr      string `config:"addr"`    // host:port of the main socket, port 0 for any
	Enabled   bool   `config:"enabled"` // false keeps the port bound, announced and silent
	SameIP    bool   `config:"sameIP"`  // datagrams must come from the IP of the player's WebSocket (D-107)
	PortsFrom int    `config:"portsFrom"`
	PortsTo   int    `config:"portsTo"`
	Sockets   int    `config:"sockets"` // further sockets at most, for equal peer ids behind one address
}

// WSS is the reliable channel of the secured mode.
type WSS struct {
	Addr string `config:"addr"` // host:port, port 0 for any; empty for none
}

// DTLS is the fast channel of the secured mode, beside WSS. Its limits hold for
// KCP as well, each for itself.
type DTLS struct {
	Addr            string  `config:"addr"`            // host:port, port 0 for any; set exactly where wss.addr is
	HalfOpen        int     `config:"halfOpen"`        // handshakes at a time
	HalfOpenPerIP   int     `config:"halfOpenPerIP"`   // the same per IP address; further ones wait unless one is silent
	HellosPerSecond float64 `config:"hellosPerSecond"` // new handshakes
	HellosPerIP     float64 `config:"hellosPerIPPerSecond"`
	Associations    int     `config:"associations"` // established ones
	SameIP          bool    `config:"sameIP"`       // handshakes only from the IP of a logged-in player's wss
}

// KCP is Troupe's own transport: KCP inside DTLS.
type KCP struct {
	Addr string `config:"addr"` // host:port, port 0 for any; empty for none
}

// TLS is where the certificate of the secured listeners comes from: a private CA,
// kept in Dir, or files.
type TLS struct {
	Dir         string        `config:"dir"` // empty: troupe/tls in the user's configuration directory
	CertFile    string        `config:"certFile"`
	KeyFile     string        `config:"keyFile"`
	CAFile      string        `config:"caFile"` // trust anchors that players get, with certFile
	Hosts       string        `config:"hosts"`  // names and addresses of the leaf besides public.host, public.ip and loopback; comma between
	ReloadEvery time.Duration `config:"reloadEvery"`
}

// Public is what players are told to connect to.
type Public struct {
	IP   string `config:"ip"`   // a literal; empty: the WebSocket's own, or the first of this machine
	Host string `config:"host"` // DNS name, empty for none; players of a fleet with certificates verify it
}

// Location is a place that this host stands for, as if it were there: one machine can
// stand for many regions.
type Location struct {
	Name            string  `config:"name"`            // letters, digits and hyphens
	GameSessionsMax int     `config:"gameSessionsMax"` // at a time, of all fleets together; 0: no bound
	Cost            float64 `config:"cost"`            // per hour, of fleets that have none; placements compare it
}

// Store is where what the service API has answered is kept.
type Store struct {
	// Path is the file; beside it are PATH-wal, PATH-shm and PATH.lock. It must be on a
	// local disk. Made, with its folder, where it is not there.
	Path   string `config:"path"`
	Memory bool   `config:"memory"` // without a path: nothing outlives the process
	// SkipDamaged starts with what can be read of a file that is damaged as a whole, which is
	// refused otherwise and kept as PATH.damaged.N, and moves damaged records, which are left
	// out otherwise, to PATH.damaged.
	SkipDamaged bool `config:"skipDamaged"`
}

// FleetLocation is a further location of a fleet.
type FleetLocation struct {
	Name string  `config:"name"` // one of locations, or region
	Cost float64 `config:"cost"` // per hour; 0: the fleet's
}

// Fleet is a fleet that is there from the start.
type Fleet struct {
	ID               string          `config:"id"` // fleet-...
	Name             string          `config:"name"`
	Description      string          `config:"description"`
	GameSessionsMax  int             `config:"gameSessionsMax"` // in each of its locations
	Locations        []FleetLocation `config:"locations"`       // besides region, which is the home of all fleets
	Cost             float64         `config:"cost"`            // per hour; 0: as the location says
	LaunchParameters string          `config:"launchParameters"`
	Certificates     string          `config:"certificates"`    // GENERATED: its game sessions announce the secure ports; DISABLED
	ReconnectWindow  string          `config:"reconnectWindow"` // a duration; empty: reconnect.window
	Script           string          `config:"script"`          // file, folder or .zip archive of its logic; empty: a relay
	LaunchPath       string          `config:"launchPath"`      // the file of the script to start; empty: the one that script names, or its own choice
	Engine           string          `config:"engine"`          // embedded, or node; empty: as the script's package.json says
	Standby          int             `config:"standby"`         // idle processes kept ready; 0: as the engine needs, none or with node 1; -1: none
	NodeVersion      string          `config:"nodeVersion"`     // 10.x or 24.x: how the script is treated; empty: 10.x
}

// Script bounds what the logic of one game session may do, and what scripts may
// cost. Of the first four, 0 switches one off.
type Script struct {
	Callback           time.Duration `config:"callback"`           // one call into a script; its game session is ended over it
	Tick               time.Duration `config:"tick"`               // a call over it is counted, and now and then warned of
	TimersMax          int           `config:"timersMax"`          // that wait
	MemoryMax          int           `config:"memoryMax"`          // bytes that a game session's script may hold
	KeepRunningOnError bool          `config:"keepRunningOnError"` // errors outside of callbacks are logged only
	UnpackedMax        int           `config:"unpackedMax"`        // bytes of all files of a script
	ProcessesMax       int           `config:"processesMax"`       // of a fleet that the service API makes, in each process group
	ProcessGroupsMax   int           `config:"processGroupsMax"`   // of a fleet in one location: what the service API calls instances
	EndEarlier         bool          `config:"endEarlier"`         // game sessions of earlier versions take no new players, and end when they have none
	Node               Node          `config:"node"`
}

// Node is how scripts run in Node.js.
type Node struct {
	Binary       string        `config:"binary"`       // empty: node on the PATH
	Dir          string        `config:"dir"`          // where scripts are unpacked; empty: the folder for temporary files
	CPU          time.Duration `config:"cpu"`          // a game session may take in 10 s; 0: 15 s; negative: any
	ProcessesMax int           `config:"processesMax"` // of a game session; 0: 16; negative: any
	UID          int           `config:"uid"`          // user that scripts run as; 0: the host's own
	GID          int           `config:"gid"`
	// AllowUploaded lets scripts of the service API run in Node.js as the host's own user, who
	// they can then do everything as; otherwise these run in the embedded engine, unless UID
	// is another user. Scripts of the configuration are the operator's.
	AllowUploaded bool `config:"allowUploaded"`
}

// Alias is an alias that is there from the start: Fleet for SIMPLE routing,
// Message for TERMINAL.
type Alias struct {
	ID      string `config:"id"` // alias-...
	Name    string `config:"name"`
	Fleet   string `config:"fleet"`
	Message string `config:"message"`
}

// Reconnect is what happens to a player whose connection is lost.
type Reconnect struct {
	Window         time.Duration `config:"window"`         // 0 to 600 s; 0 is the original's behaviour
	Takeover       string        `config:"takeover"`       // now, or refuse: a connection that gives a sign of life within 2 s stays
	Rejoin         bool          `config:"rejoin"`         // who has left may come again, as a new player with the same peer id
	Overflow       string        `config:"overflow"`       // of a player's queue: gap, which is told, or end of the player session
	StockAmbiguous string        `config:"stockAmbiguous"` // what a stock client may have received: resend, or skip
	Acknowledge    bool          `config:"acknowledge"`    // keep what was sent until it is confirmed
	QueueBytesAll  int           `config:"queueBytesAll"`  // for all players together; 0: a quarter of the memory
}

// Session are the settings of all game sessions.
type Session struct {
	EmptyTimeout        time.Duration `config:"emptyTimeout"` // without players; 0: when the last leaves; negative: never
	PingInterval        time.Duration `config:"pingInterval"` // default of scripts that do not say
	PlayerQueueBytes    int           `config:"playerQueueBytes"`
	PlayerQueueMessages int           `config:"playerQueueMessages"`
	MailboxBytes        int           `config:"mailboxBytes"`
	MailboxMessages     int           `config:"mailboxMessages"`
	AnnouncePlayers     bool          `config:"announcePlayers"`         // PLAYER_CONNECT and PLAYER_DISCONNECT to the others (D-112)
	AnnounceAllPlayers  bool          `config:"announceAllPlayersGroup"` // membership updates of group -1 (D-111)
	LegacyLoginPacket   bool          `config:"legacyLoginPacket"`       // an empty packet with op code 0 after the login (D-112)
	EndedMax            int           `config:"endedMax"`                // ended game sessions remembered; fewer if they hold more than 512 MiB
	EndedKeep           time.Duration `config:"endedKeep"`               // for at most so long
}

// Limits bound what peers may cost; 0 switches one off.
type Limits struct {
	LoginTimeout                      time.Duration `config:"loginTimeout"`
	Unauthenticated                   int           `config:"unauthenticated"`           // connections without a login; over it the oldest silent one gives way
	UnauthenticatedPerIP              int           `config:"unauthenticatedPerIP"`      // the same per address, and one more for each of its logins; over it connections wait
	ConnectionsPerIPPerSecond         float64       `config:"connectionsPerIPPerSecond"` // that do not log in; over it connections wait
	ConnectionsPerIPBurst             int           `config:"connectionsPerIPBurst"`
	ConnectionsHeld                   int           `config:"connectionsHeld"`                  // that wait, each for loginTimeout at most; more are reset. 0: none waits
	ConnectionsHeldPerIP              int           `config:"connectionsHeldPerIP"`             // the same per address; 0: as many as connectionsHeld
	LoginFailuresPerIPPerMinute       int           `config:"loginFailuresPerIPPerMinute"`      // with ids that nobody has; over it an address gets its refusals later
	LoginsPerPlayerSessionPerMinute   int           `config:"loginsPerPlayerSessionPerMinute"`  // without a reconnect token; over it each waits, for a second at most
	ResumesPerPlayerSessionPerMinute  int           `config:"resumesPerPlayerSessionPerMinute"` // with one
	LoginsPerSecond                   float64       `config:"loginsPerSecond"`                  // altogether; those who come back go first
	LoginsWaiting                     int           `config:"loginsWaiting"`                    // for their turn, without those who hold a seat; more are told to come later
	MalformedPackets                  int           `config:"malformedPackets"`
	PlayerMessagesPerSecond           float64       `config:"playerMessagesPerSecond"`
	PlayerMessagesBurst               float64       `config:"playerMessagesBurst"`
	PlayerBytesPerSecond              float64       `config:"playerBytesPerSecond"`
	TooFastFor                        time.Duration `config:"tooFastFor"`
	GroupOperationsPerSecond          float64       `config:"groupOperationsPerSecond"`
	GroupsPerPlayer                   int           `config:"groupsPerPlayer"`
	GroupsPerGameSession              int           `config:"groupsPerGameSession"`
	GameSessionBytesPerSecond         int           `config:"gameSessionBytesPerSecond"` // reliable ones of its players to groups and to the game, together; over it who sends most waits
	DeliveriesPerGameSessionPerSecond int           `config:"deliveriesPerGameSessionPerSecond"`
	ScriptDeliveriesPerSecond         int           `config:"scriptDeliveriesPerSecond"` // of a game session's own messages
	MessageBytes                      int           `config:"messageBytes"`              // inbound WebSocket message; not to be switched off
}

// Flush says when output is written (D-18).
type Flush struct {
	Interval string `config:"interval"` // adaptive, or a duration; 0s writes after every batch
}

// Drain is how the host stops.
type Drain struct {
	Grace time.Duration `config:"grace"` // how long game sessions with players may go on
}

// Log is the host's log.
type Log struct {
	Level  string `config:"level"`  // debug, info, warn, error
	Format string `config:"format"` // json or pretty
	// GameSessions is where the logs of game sessions are kept.
	GameSessions GameSessionLogs `config:"gameSessions"`
}

// GameSessionLogs are the logs that scripts write, as files of one folder.
type GameSessionLogs struct {
	Dir        string        `config:"dir"`        // empty: troupe/game-session-logs in the user's state folder, or in that for temporary files
	MaxBytes   int           `config:"maxBytes"`   // of one file; the next one begins then
	Files      int           `config:"files"`      // of one game session; older ones are removed
	TotalBytes int           `config:"totalBytes"` // of all; the logs of game sessions that ended first go first
	Keep       time.Duration `config:"keep"`       // after the end of the game session
	Show       bool          `config:"show"`       // in the host's log, too: for development
}

// Defaults returns the configuration of a host on loopback with the default
// ports, one fleet, one alias of that fleet and one queue of that alias: who replaces
// Fleets replaces Aliases and Queues, too.
func Defaults() Config {
	return Config{
		API:       API{Addr: "127.0.0.1:8080", Keys: []APIKey{}, Proxies: []string{}, Skew: awswire.DefaultSkew, Rate: 50, Burst: 100},
		WebSocket: WebSocket{Addr: "127.0.0.1:1900", EmptyCloseIsLeave: true, Proxies: []string{}},
		Fast:      Fast{Addr: "127.0.0.1:33400", Enabled: true, SameIP: true, PortsFrom: 33403, PortsTo: 33500, Sockets: 64},
		WSS:       WSS{Addr: "127.0.0.1:1901"},
		DTLS:      DTLS{Addr: "127.0.0.1:33401", HalfOpen: 512, HalfOpenPerIP: 64, HellosPerSecond: 1000, HellosPerIP: 200, Associations: 1 << 16},
		KCP:       KCP{Addr: "127.0.0.1:33402"},
		TLS:       TLS{ReloadEvery: time.Minute},
		Region:    "us-east-1",
		Account:   "000000000000",
		Locations: []Location{},
		Fleets:    []Fleet{{ID: "fleet-dev", Name: "dev", Description: "the embedded fleet", GameSessionsMax: 1000, Certificates: "DISABLED", Locations: []FleetLocation{}}},
		Aliases:   []Alias{{ID: "alias-dev", Name: "dev", Fleet: "fleet-dev"}},
		Queues:    []Queue{defaultQueue()},
		Store:     Store{Memory: true},
		Events:    Events{Sinks: []EventSink{}},
		Reconnect: Reconnect{
			Window: 30 * time.Second, Takeover: "now", Rejoin: true, Overflow: "gap", StockAmbiguous: "resend", Acknowledge: true,
		},
		Session: Session{
			EmptyTimeout: 5 * time.Minute, PingInterval: 3 * time.Second,
			PlayerQueueBytes: 1 << 20, PlayerQueueMessages: 16384,
			MailboxBytes: 8 << 20, MailboxMessages: 8192,
			EndedMax: fleet.DefaultEndedMax, EndedKeep: 30 * 24 * time.Hour,
		},
		Script: Script{
			Callback: 30 * time.Second, Tick: 50 * time.Millisecond, TimersMax: 10_000, MemoryMax: 256 << 20,
			UnpackedMax: bundle.DefaultUnpackedMax, ProcessesMax: fleet.DefaultProcessesMax,
			ProcessGroupsMax: fleet.DefaultGroupsMax,
		},
		Limits: Limits{
			LoginTimeout: 10 * time.Second, Unauthenticated: 2000, UnauthenticatedPerIP: 20,
			ConnectionsPerIPPerSecond: 50, ConnectionsPerIPBurst: 200, ConnectionsHeld: 8192, ConnectionsHeldPerIP: 4096,
			LoginFailuresPerIPPerMinute: 10, LoginsPerPlayerSessionPerMinute: 5, ResumesPerPlayerSessionPerMinute: 120,
			LoginsPerSecond: 2500, LoginsWaiting: 4096, MalformedPackets: 10,
			PlayerMessagesPerSecond: 200, PlayerMessagesBurst: 400, PlayerBytesPerSecond: 256 << 10, TooFastFor: 10 * time.Second,
			GroupOperationsPerSecond: 20, GroupsPerPlayer: 64, GroupsPerGameSession: 4096,
			GameSessionBytesPerSecond: 1 << 20, DeliveriesPerGameSessionPerSecond: 50_000, ScriptDeliveriesPerSecond: 200_000, MessageBytes: 65536,
		},
		Flush: Flush{Interval: "adaptive"},
		Drain: Drain{Grace: 30 * time.Second},
		Log: Log{
			Level: "info", Format: "json",
			GameSessions: GameSessionLogs{MaxBytes: 4 << 20, Files: 4, TotalBytes: 1 << 30, Keep: 14 * 24 * time.Hour},
		},
	}
}

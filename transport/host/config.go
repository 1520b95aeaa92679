package host

import (
	"time"

	"troupe/actors/fleet"
	"troupe/actors/script/bundle"
	"troupe/transport/awswire"
)

// Config is the whole configuration of a host. The key of a field is its path of `config`
// tags, for example reconnect.window. Start from Defaults.
type Config struct {
	API         API         `config:"api"`
	WebSocket   WebSocket   `config:"websocket"`
	Fast        Fast        `config:"fast"`
	WSS         WSS         `config:"wss"`
	DTLS        DTLS        `config:"dtls"`
	KCP         KCP         `config:"kcp"`
	TLS         TLS         `config:"tls"`
	Public      Public      `config:"public"`
	Region      string      `config:"region" level:"common"` // API region, part of all ids; letters, digits, hyphens
	Account     string      `config:"account"`               // 12 digits, part of ARNs
	Locations   []Location  `config:"locations"`             // further locations of this host, besides region
	Fleets      []Fleet     `config:"fleets"`
	Aliases     []Alias     `config:"aliases"`
	Queues      []Queue     `config:"queues"`
	Matchmaking Matchmaking `config:"matchmaking"`
	Store       Store       `config:"store"`
	Cluster     Cluster     `config:"cluster"`
	Events      Events      `config:"events"`
	Reconnect   Reconnect   `config:"reconnect"`
	Session     Session     `config:"session"`
	Script      Script      `config:"script"`
	Limits      Limits      `config:"limits"`
	Flush       Flush       `config:"flush"`
	Drain       Drain       `config:"drain"`
	Workers     int         `config:"workers"`  // shards of actors; 0 is one per CPU
	Announce    string      `config:"announce"` // file that the host writes its addresses to, as JSON, once it has started; empty: none
	Log         Log         `config:"log"`
}

// API is the listener of the service API, health and metrics. Its booleans are settings of
// the operator, independent of each other.
type API struct {
	Addr string `config:"addr" level:"common"` // host:port, port 0 for any; off loopback only with sigv4
	// Auth is sigv4, none (every caller on this machine is accepted) or empty: sigv4 if there are
	// keys, and none if every listener is on loopback.
	Auth          string        `config:"auth" values:",sigv4,none"`
	Keys          []APIKey      `config:"keys" level:"common"`     // access keys; without keys only callers on this machine are accepted
	Skew          time.Duration `config:"skew"`                    // how far a caller's clock may be off
	TrustLoopback bool          `config:"trustLoopback"`           // /events and /debug need no key from this machine even if there are keys: no proxy on it may forward requests of others
	Rate          float64       `config:"rate"`                    // calls per second and key; 0 is no limit
	Burst         int           `config:"burst"`                   // burst of calls per key
	TLS           bool          `config:"tls" level:"common"`      // https, with the certificate of the secured listeners
	Insecure      bool          `config:"insecure" level:"common"` // allow an address off loopback without TLS: a proxy in front of it has to encrypt
	Proxies       []string      `config:"proxies" level:"common"`  // addresses and networks of proxies that name their clients: by a PROXY protocol v2 header, or else by the last address in X-Forwarded-For
}

// APIKey is an access key of the service API. One of Secret, SecretFile and SecretEnv is set.
type APIKey struct {
	ID           string   `config:"id" level:"common"`         // access key id: 3 to 128 letters, digits, hyphens and underscores; troupe admin keys new makes one
	Secret       string   `config:"secret"`                    // only the owner may have access to the configuration file then
	SecretFile   string   `config:"secretFile" level:"common"` // file with the secret; only its owner may have access
	SecretEnv    string   `config:"secretEnv" level:"common"`  // name of an environment variable, not beginning with TROUPE_
	SessionToken string   `config:"sessionToken"`              // callers must send it, if set
	Allow        []string `config:"allow"`                     // operations, like gamelift:Describe*; empty: all
	Rate         float64  `config:"rate"`                      // 0: api.rate; -1: no limit
	Burst        int      `config:"burst"`                     // 0: api.burst
}

// WebSocket is the reliable channel without TLS.
type WebSocket struct {
	Addr              string `config:"addr" level:"common"` // host:port, port 0 for any
	EmptyCloseIsLeave bool   `config:"emptyCloseIsLeave"`   // a close frame without a code, as browsers send it, counts as a leave
	// Proxies are addresses and networks of load balancers, also for wss: a connection from
	// one must begin with a PROXY protocol v2 header, and counts for the client that the
	// header names.
	Proxies []string `config:"proxies" level:"common"`
}

// Fast is the fast channel over plain UDP.
type Fast struct {
	Addr      string `config:"addr" level:"common"` // host:port of the main socket, port 0 for any
	Enabled   bool   `config:"enabled"`             // false keeps the port bound, announced and silent
	SameIP    bool   `config:"sameIP"`              // datagrams must come from the IP of the player's WebSocket
	PortsFrom int    `config:"portsFrom"`           // first port of the further sockets
	PortsTo   int    `config:"portsTo"`             // last port of the further sockets
}

// WSS is the reliable channel of the secured mode.
type WSS struct {
	Addr string `config:"addr" level:"common"` // host:port, port 0 for any; empty for none
}

// DTLS is the fast channel of the secured mode, beside WSS. Its limits apply to KCP as
// well, separately.
type DTLS struct {
	Addr            string  `config:"addr" level:"common"`  // host:port, port 0 for any; set exactly where wss.addr is
	HalfOpen        int     `config:"halfOpen"`             // concurrent handshakes
	HalfOpenPerIP   int     `config:"halfOpenPerIP"`        // concurrent handshakes per IP address; further ones wait unless one is silent
	HellosPerSecond float64 `config:"hellosPerSecond"`      // new handshakes per second
	HellosPerIP     float64 `config:"hellosPerIPPerSecond"` // new handshakes per second and IP address
}

// KCP is Troupe's own transport: KCP inside DTLS.
type KCP struct {
	Addr string `config:"addr" level:"common"` // host:port, port 0 for any; empty for none
}

// TLS says where the certificate of the secured listeners comes from: a private CA in Dir,
// or files.
type TLS struct {
	Dir         string        `config:"dir" level:"common"`      // empty: troupe/tls in the user's configuration directory
	CertFile    string        `config:"certFile" level:"common"` // certificate and its chain, PEM; empty: the private CA of tls.dir signs one
	KeyFile     string        `config:"keyFile" level:"common"`  // private key of certFile, PEM; only its owner may have access
	CAFile      string        `config:"caFile"`                  // trust anchors that players get, with certFile
	ReloadEvery time.Duration `config:"reloadEvery"`             // how often the files are checked for changes; at least 1s
}

// Public is the address that players are told to connect to.
type Public struct {
	IP   string `config:"ip" level:"common"`   // IP address; empty: the WebSocket listener's, or the first of this machine: IPv4, or else IPv6. Must be set if it has neither
	Host string `config:"host" level:"common"` // DNS name, empty for none; players of a fleet with certificates verify it
}

// Location is a location that this host serves in the service API: one machine can serve
// many regions.
type Location struct {
	Name            string  `config:"name"`            // letters, digits and hyphens
	GameSessionsMax int     `config:"gameSessionsMax"` // concurrent game sessions of all fleets; 0: no bound
	Cost            float64 `config:"cost"`            // per hour, for fleets without a cost; placements compare it
}

// Store is the database of all records that the service API has acknowledged.
type Store struct {
	// Path is the file; beside it are PATH-wal, PATH-shm and PATH.lock, and PATH.crash.last
	// after a crash: what the process said. It must be on a local disk. The file and its
	// folder are created if they do not exist.
	Path   string `config:"path" level:"common"`
	Memory bool   `config:"memory"` // keep records in memory only, without a path
	// SkipDamaged starts a host with a file that has damaged pages, with the records that
	// can be read; the file is kept as PATH.damaged.N. Damaged records are moved to
	// PATH.damaged. Without it, such a file is refused, and damaged records stay in the
	// store, unused.
	SkipDamaged bool `config:"skipDamaged"`
}

// FleetLocation is a further location of a fleet.
type FleetLocation struct {
	Name string  `config:"name"` // one of locations, or region
	Cost float64 `config:"cost"` // per hour; 0: the fleet's
}

// Fleet is a fleet that exists from the start.
type Fleet struct {
	ID               string          `config:"id" level:"common"`                                        // fleet-...
	Name             string          `config:"name" level:"common"`                                      // shown by the service API
	Description      string          `config:"description"`                                              // shown by the service API
	GameSessionsMax  int             `config:"gameSessionsMax" level:"common"`                           // in each of its locations
	Locations        []FleetLocation `config:"locations"`                                                // besides region, which is the home region of all fleets
	Cost             float64         `config:"cost"`                                                     // per hour; 0: the location's
	LaunchParameters string          `config:"launchParameters"`                                         // text that the script gets as its launch parameters
	Certificates     string          `config:"certificates" level:"common" values:",GENERATED,DISABLED"` // GENERATED: its game sessions announce the secure ports; DISABLED
	ReconnectWindow  string          `config:"reconnectWindow"`                                          // a duration; empty: reconnect.window
	Script           string          `config:"script" level:"common"`                                    // file, folder or .zip archive of the script; empty: game sessions only relay messages
	LaunchPath       string          `config:"launchPath"`                                               // file of the script to start; empty: main of its package.json, or its only file
	Engine           string          `config:"engine" values:",embedded,node"`                           // embedded, or node; empty: as the script's package.json says
	Standby          int             `config:"standby"`                                                  // number of stand-by processes; 0: 1 with node, otherwise none; -1: none
	NodeVersion      string          `config:"nodeVersion" values:",10.x,24.x"`                          // Node.js version to be compatible with: 10.x or 24.x; empty: 10.x
}

// Script bounds the resources of scripts. Of the first three limits, 0 switches a limit off.
type Script struct {
	Callback           time.Duration `config:"callback"`           // longest call into a script; a longer one ends its game session
	TimersMax          int           `config:"timersMax"`          // pending timers
	MemoryMax          int           `config:"memoryMax"`          // bytes of memory of one game session's script
	KeepRunningOnError bool          `config:"keepRunningOnError"` // errors outside of callbacks are only logged
	UnpackedMax        int           `config:"unpackedMax"`        // bytes of all files of a script
	ProcessesMax       int           `config:"processesMax"`       // processes per process group, of a fleet that was created by the service API
	ProcessGroupsMax   int           `config:"processGroupsMax"`   // process groups of a fleet in one location; the service API calls them instances
	EndEarlier         bool          `config:"endEarlier"`         // game sessions of earlier versions accept no new players, and end when they have none
	Node               Node          `config:"node"`
}

// Node configures scripts in Node.js.
type Node struct {
	Dir string `config:"dir"`                // folder where scripts are unpacked; empty: the folder for temporary files
	UID int    `config:"uid" level:"common"` // user that scripts run as; 0: the host's own
	GID int    `config:"gid"`                // group that scripts run as; 0: the host's own
	// AllowUploaded runs scripts that were uploaded through the service API in Node.js even as
	// the host's own user, with all its permissions. Without it, they run in Node.js only if
	// UID is another user, and otherwise in the embedded engine. Scripts of the configuration
	// come from the operator and may always use Node.js.
	AllowUploaded bool `config:"allowUploaded"`
}

// Alias is an alias that exists from the start: with Fleet for SIMPLE routing, with Message
// for TERMINAL.
type Alias struct {
	ID      string `config:"id" level:"common"`    // alias-...
	Name    string `config:"name"`                 // shown by the service API
	Fleet   string `config:"fleet" level:"common"` // id of the fleet that callers are sent to
	Message string `config:"message"`              // text for callers of an alias without a fleet
}

// Reconnect configures what happens to a player whose connection is lost.
type Reconnect struct {
	Window         time.Duration `config:"window" level:"common"`               // how long the player may reconnect, 0 to 600 s; 0 behaves like GameLift
	Takeover       string        `config:"takeover" values:"now,refuse"`        // now, or refuse: a connection that gives a sign of life within 2 s stays
	Rejoin         bool          `config:"rejoin"`                              // a player that has left may log in again, as a new player with the same peer id
	Overflow       string        `config:"overflow" values:"gap,end"`           // when a player's outbox is full: gap (drop messages and tell the player), or end (the player session)
	StockAmbiguous string        `config:"stockAmbiguous" values:"resend,skip"` // messages that a stock client may have received: resend, or skip
	Acknowledge    bool          `config:"acknowledge"`                         // keep sent messages until they are confirmed
	QueueBytesAll  int           `config:"queueBytesAll"`                       // bytes of all outboxes together; 0: a quarter of the memory
}

// Session are the settings of all game sessions.
type Session struct {
	EmptyTimeout        time.Duration `config:"emptyTimeout" level:"common"` // time without players until it ends; 0: when the last leaves; negative: never
	PingInterval        time.Duration `config:"pingInterval"`                // for scripts that do not set one
	PlayerQueueBytes    int           `config:"playerQueueBytes"`            // bytes of a player's outbox; at 75 % the player counts as slow, at 100 % its connection is closed
	PlayerQueueMessages int           `config:"playerQueueMessages"`         // messages of a player's outbox
	MailboxBytes        int           `config:"mailboxBytes"`                // bytes of players' messages that wait for the game session; more are dropped
	MailboxMessages     int           `config:"mailboxMessages"`             // messages of players that wait for the game session; more are dropped
	AnnouncePlayers     bool          `config:"announcePlayers"`             // PLAYER_CONNECT and PLAYER_DISCONNECT to the others
	AnnounceAllPlayers  bool          `config:"announceAllPlayersGroup"`     // membership updates of group -1
	LegacyLoginPacket   bool          `config:"legacyLoginPacket"`           // an empty packet with op code 0 after the login
	EndedMax            int           `config:"endedMax"`                    // records of ended game sessions that are kept; fewer if they take more than 512 MiB
	EndedKeep           time.Duration `config:"endedKeep"`                   // how long records of ended game sessions are kept
}

// Limits bound the resources of peers; 0 switches a limit off.
type Limits struct {
	LoginTimeout                      time.Duration `config:"loginTimeout"`                      // time for a LOGIN after the connection was accepted
	Unauthenticated                   int           `config:"unauthenticated"`                   // connections without a login; above it the oldest silent one is closed
	UnauthenticatedPerIP              int           `config:"unauthenticatedPerIP"`              // connections of one address without a login, plus one for each of its logins; above it connections wait
	ConnectionsPerIPPerSecond         float64       `config:"connectionsPerIPPerSecond"`         // connections of one address that do not log in, per second; above it connections wait
	ConnectionsPerIPBurst             int           `config:"connectionsPerIPBurst"`             // burst of connectionsPerIPPerSecond
	ConnectionsHeld                   int           `config:"connectionsHeld"`                   // waiting connections, each for loginTimeout at most; more are reset. 0: none waits
	LoginFailuresPerIPPerMinute       int           `config:"loginFailuresPerIPPerMinute"`       // logins of one address with unknown ids, per minute; above it the address gets its refusals later
	LoginsPerPlayerSessionPerMinute   int           `config:"loginsPerPlayerSessionPerMinute"`   // logins without a reconnect token; above it each waits, for a second at most
	ResumesPerPlayerSessionPerMinute  int           `config:"resumesPerPlayerSessionPerMinute"`  // logins with a reconnect token; above it each waits, for a second at most
	LoginsPerSecond                   float64       `config:"loginsPerSecond"`                   // logins of all players per second; reconnecting players go first
	LoginsWaiting                     int           `config:"loginsWaiting"`                     // logins that wait for loginsPerSecond; further ones of new players are told to retry later
	PlayerMessagesPerSecond           float64       `config:"playerMessagesPerSecond"`           // messages of one player per second; more are dropped
	PlayerMessagesBurst               float64       `config:"playerMessagesBurst"`               // burst of playerMessagesPerSecond
	PlayerBytesPerSecond              float64       `config:"playerBytesPerSecond"`              // bytes of one player per second; more are dropped
	TooFastFor                        time.Duration `config:"tooFastFor"`                        // a player that is over its rate for this long is disconnected
	GroupOperationsPerSecond          float64       `config:"groupOperationsPerSecond"`          // joins and leaves of groups by one player per second
	GameSessionBytesPerSecond         int           `config:"gameSessionBytesPerSecond"`         // reliable bytes of all its players to groups and to the game; above it the players that send most wait
	DeliveriesPerGameSessionPerSecond int           `config:"deliveriesPerGameSessionPerSecond"` // messages of players that one game session delivers per second, counted per recipient
}

// Flush configures when output is written.
type Flush struct {
	Interval string `config:"interval"` // adaptive, or a duration; 0s writes after every batch
}

// Drain configures how the host stops.
type Drain struct {
	Grace time.Duration `config:"grace" level:"common"` // how long game sessions with players may continue
}

// Log is the host's log.
type Log struct {
	Level  string `config:"level" level:"common" values:"debug,info,warn,error"` // least level of lines that are written
	Format string `config:"format" values:"json,pretty"`                         // one JSON object per line, or text for people
	// GameSessions configures the logs of game sessions.
	GameSessions GameSessionLogs `config:"gameSessions"`
}

// GameSessionLogs are the logs that scripts write, as files of one folder.
type GameSessionLogs struct {
	Dir  string        `config:"dir" level:"common"` // empty: troupe/game-session-logs in the user's state folder, or in the folder for temporary files
	Keep time.Duration `config:"keep"`               // how long a log is kept after the end of its game session
	Show bool          `config:"show"`               // copy the lines to the host's log, for development
}

// Defaults returns the configuration of a host on loopback with the default ports, one
// fleet, one alias of that fleet, one queue of that alias and one matchmaking configuration of
// that queue. If you replace Fleets, replace Aliases, Queues and Matchmaking, too.
func Defaults() Config {
	return Config{
		API:         API{Addr: "127.0.0.1:8080", Keys: []APIKey{}, Proxies: []string{}, Skew: awswire.DefaultSkew, Rate: 50, Burst: 100},
		WebSocket:   WebSocket{Addr: "127.0.0.1:1900", EmptyCloseIsLeave: true, Proxies: []string{}},
		Fast:        Fast{Addr: "127.0.0.1:33400", Enabled: true, SameIP: true, PortsFrom: 33403, PortsTo: 33500},
		WSS:         WSS{Addr: "127.0.0.1:1901"},
		DTLS:        DTLS{Addr: "127.0.0.1:33401", HalfOpen: 512, HalfOpenPerIP: 64, HellosPerSecond: 1000, HellosPerIP: 200},
		KCP:         KCP{Addr: "127.0.0.1:33402"},
		TLS:         TLS{ReloadEvery: time.Minute},
		Region:      "us-east-1",
		Account:     "000000000000",
		Locations:   []Location{},
		Fleets:      []Fleet{{ID: "fleet-dev", Name: "dev", Description: "the embedded fleet", GameSessionsMax: 1000, Certificates: "DISABLED", Locations: []FleetLocation{}}},
		Aliases:     []Alias{{ID: "alias-dev", Name: "dev", Fleet: "fleet-dev"}},
		Queues:      []Queue{defaultQueue()},
		Matchmaking: defaultMatchmaking(),
		Store:       Store{Memory: true},
		Cluster:     Cluster{Generation: 1, Etcd: EtcdUse{Endpoints: []string{}}, Peers: Peers{Addr: "127.0.0.1:33480"}},
		Events:      Events{Sinks: []EventSink{}},
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
			Callback: 30 * time.Second, TimersMax: 10_000, MemoryMax: 256 << 20,
			UnpackedMax: bundle.DefaultUnpackedMax, ProcessesMax: fleet.DefaultProcessesMax,
			ProcessGroupsMax: fleet.DefaultGroupsMax,
		},
		Limits: Limits{
			LoginTimeout: 10 * time.Second, Unauthenticated: 2000, UnauthenticatedPerIP: 20,
			ConnectionsPerIPPerSecond: 50, ConnectionsPerIPBurst: 200, ConnectionsHeld: 8192,
			LoginFailuresPerIPPerMinute: 10, LoginsPerPlayerSessionPerMinute: 5, ResumesPerPlayerSessionPerMinute: 120,
			LoginsPerSecond: 10000, LoginsWaiting: 4096,
			PlayerMessagesPerSecond: 200, PlayerMessagesBurst: 400, PlayerBytesPerSecond: 256 << 10, TooFastFor: 10 * time.Second,
			GroupOperationsPerSecond:  20,
			GameSessionBytesPerSecond: 1 << 20, DeliveriesPerGameSessionPerSecond: 50_000,
		},
		Flush: Flush{Interval: "adaptive"},
		Drain: Drain{Grace: 30 * time.Second},
		Log: Log{
			Level: "info", Format: "json",
			GameSessions: GameSessionLogs{Keep: 14 * 24 * time.Hour},
		},
	}
}

package host

import (
	"time"

	"troupe/actors/fleet"
	"troupe/actors/script/bundle"
	"troupe/actors/serverprocess/builds"
	"troupe/transport/awswire"
)

// Config is the whole configuration of a host. The key of a field is the path of its `config` tags, for
// example reconnect.window. Start from Defaults.
type Config struct {
	API       API       `config:"api"`
	WebSocket WebSocket `config:"websocket"`
	Fast      Fast      `config:"fast"`
	WSS       WSS       `config:"wss"`
	DTLS      DTLS      `config:"dtls"`
	KCP       KCP       `config:"kcp"`
	TLS       TLS       `config:"tls"`
	Public    Public    `config:"public"`
	ServerSDK ServerSDK `config:"serverSDK"`
	// Region is the name of the API region, which is part of all ids. It has letters, digits and hyphens.
	Region      string      `config:"region" level:"common"`
	Account     string      `config:"account"`   // account number in ARNs; 12 digits
	Locations   []Location  `config:"locations"` // further locations of this host, besides region
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
	Builds      Builds      `config:"builds"`
	Limits      Limits      `config:"limits"`
	Flush       Flush       `config:"flush"`
	Drain       Drain       `config:"drain"`
	Workers     int         `config:"workers"` // number of shards of actors; 0: one per CPU
	// Announce is the path of a JSON file to which the host writes its addresses after its start. Empty means
	// no file.
	Announce string `config:"announce"`
	Log      Log    `config:"log"`
}

// API is the listener of the service API, health and metrics.
type API struct {
	Addr string `config:"addr" level:"common"` // host:port, with port 0 for any free port; an address off loopback requires sigv4
	// Auth is the authentication mode: sigv4, none (every caller on this machine is accepted) or empty. Empty
	// means sigv4 if there are keys, or none if there are no keys and every listener is on loopback.
	Auth string `config:"auth" values:",sigv4,none"`
	// Keys are the access keys; if there are none, only callers on this machine are accepted.
	Keys []APIKey      `config:"keys" level:"common"`
	Skew time.Duration `config:"skew"` // maximum difference between a caller's clock and the host's
	// TrustLoopback is whether requests from this machine to /events and /debug need no key even if there are
	// keys. With it, no proxy on this machine may forward requests of others.
	TrustLoopback bool    `config:"trustLoopback"`
	Rate          float64 `config:"rate"`               // average calls per second of each key; 0: no limit
	Burst         int     `config:"burst"`              // calls that each key may make in a burst
	TLS           bool    `config:"tls" level:"common"` // serve https, with the certificate of the secured listeners
	// Insecure allows an address off loopback without TLS. A proxy in front of the host must then encrypt the
	// traffic.
	Insecure bool `config:"insecure" level:"common"`
	// Proxies are addresses and networks of proxies that report their clients, either by a PROXY protocol v2
	// header or by the last address in X-Forwarded-For. They are also those of serverSDK.addr.
	Proxies []string `config:"proxies" level:"common"`
}

// APIKey is an access key of the service API. Exactly one of Secret, SecretFile and SecretEnv must be set.
type APIKey struct {
	// ID is the access key id: 3 to 128 letters, digits, hyphens and underscores. `troupe admin keys new`
	// creates one.
	ID string `config:"id" level:"common"`
	// Secret is the secret itself. Only the owner may then have access to the configuration file.
	Secret     string `config:"secret"`
	SecretFile string `config:"secretFile" level:"common"` // path of a file with the secret; only its owner may have access
	// SecretEnv is the name of an environment variable with the secret; it must not begin with TROUPE_.
	SecretEnv    string `config:"secretEnv" level:"common"`
	SessionToken string `config:"sessionToken"` // if set, callers must send this session token
	// Allow are the patterns of allowed operations, for example gamelift:Describe*; empty: all operations.
	Allow []string `config:"allow"`
	Rate  float64  `config:"rate"`  // average calls per second; 0: the value of api.rate; -1: no limit
	Burst int      `config:"burst"` // calls in a burst; 0: the value of api.burst
}

// WebSocket is the reliable channel without TLS.
type WebSocket struct {
	Addr string `config:"addr" level:"common"` // host:port, with port 0 for any free port
	// EmptyCloseIsLeave is whether a close frame without a code, which browsers send, counts as a leave.
	EmptyCloseIsLeave bool `config:"emptyCloseIsLeave"`
	// Proxies are addresses and networks of load balancers, also for wss. A connection from one of them must
	// begin with a PROXY protocol v2 header, and counts toward the limits of the client in that header.
	Proxies []string `config:"proxies" level:"common"`
}

// Fast is the fast channel over plain UDP.
type Fast struct {
	Addr string `config:"addr" level:"common"` // host:port of the main socket, with port 0 for any free port
	// Enabled is whether the channel is used; if false, the port is still bound and announced, but the host
	// sends nothing.
	Enabled   bool `config:"enabled"`
	SameIP    bool `config:"sameIP"`    // whether datagrams must come from the IP address of the player's WebSocket
	PortsFrom int  `config:"portsFrom"` // first port of the additional sockets
	PortsTo   int  `config:"portsTo"`   // last port of the additional sockets
}

// WSS is the reliable channel of the secured mode.
type WSS struct {
	Addr string `config:"addr" level:"common"` // host:port, with port 0 for any free port; empty: no such listener
}

// DTLS is the fast channel of the secured mode, used together with WSS. Its limits also apply to KCP,
// separately.
type DTLS struct {
	// Addr is host:port, with port 0 for any free port; must be set if and only if wss.addr is set.
	Addr     string `config:"addr" level:"common"`
	HalfOpen int    `config:"halfOpen"` // maximum concurrent handshakes
	// HalfOpenPerIP is the maximum number of concurrent handshakes of one IP address; further ones wait unless one is
	// silent.
	HalfOpenPerIP   int     `config:"halfOpenPerIP"`
	HellosPerSecond float64 `config:"hellosPerSecond"`      // maximum new handshakes per second
	HellosPerIP     float64 `config:"hellosPerIPPerSecond"` // maximum new handshakes per second of one IP address
}

// KCP is Troupe's own transport: KCP over DTLS.
type KCP struct {
	Addr string `config:"addr" level:"common"` // host:port, with port 0 for any free port; empty: no such listener
}

// TLS is where the certificate of the secured listeners comes from: a private CA in Dir, or files of your
// own.
type TLS struct {
	// Dir is the data folder of the private CA; empty: troupe/tls in the user's configuration folder.
	Dir string `config:"dir" level:"common"`
	// CertFile is a PEM file with the certificate and its chain. If it is empty, the private CA in tls.dir
	// signs a certificate.
	CertFile string `config:"certFile" level:"common"`
	// PEM file with the private key of certFile; only its owner may have access
	KeyFile string `config:"keyFile" level:"common"`
	// PEM file with the trust anchors that players get; used with certFile
	CAFile      string        `config:"caFile"`
	ReloadEvery time.Duration `config:"reloadEvery"` // interval at which the files are checked for changes; at least 1s
}

// Public is the address that players are told to connect to.
type Public struct {
	// IP is the IP address. If it is empty, it is the WebSocket listener's address. If that listener is on
	// all addresses, it is the first IPv4 address of this machine or else an IPv6 address. IP must be set if
	// the machine has neither.
	IP   string `config:"ip" level:"common"`
	Host string `config:"host" level:"common"` // DNS name, which players of a fleet with certificates verify; empty: none
}

// ServerSDK is the endpoint of game servers that speak the GameLift Server SDK. It is the path /server-sdk of the service
// API's address.
type ServerSDK struct {
	// Addr is a second address of the endpoint, on which every path is served; empty: none. It uses TLS if api.tls is set.
	Addr string `config:"addr"`
	// URL is the URL of the endpoint for computes: ws or wss, without a query. RegisterCompute returns it. If it is empty, it
	// is serverSDK.addr or else /server-sdk on the service API's address.
	URL string `config:"url"`
}

// Location is a location that this host serves in the service API. One host can serve several regions.
type Location struct {
	Name            string  `config:"name"`            // name of letters, digits and hyphens
	GameSessionsMax int     `config:"gameSessionsMax"` // maximum concurrent game sessions of all fleets together; 0: no limit
	Cost            float64 `config:"cost"`            // cost per hour of fleets without their own cost; placements compare costs
}

// Store is the database of all records that the service API has acknowledged.
type Store struct {
	// Path is the path of the database file, which must be on a local disk. The host creates the file and its
	// folder if they do not exist. It also creates the files PATH-wal, PATH-shm and PATH.lock, and after a
	// crash of the process PATH.crash.last with the crash report.
	Path   string `config:"path" level:"common"`
	Memory bool   `config:"memory"` // whether to keep records in memory only, if there is no path
	// SkipDamaged allows a start with damaged data. If the file has damaged pages, the host keeps it as
	// PATH.damaged.N and starts with the records that can be read. It moves damaged records to PATH.damaged.
	// Without SkipDamaged, the host refuses to start with damaged pages, and damaged records stay unused in
	// the store.
	SkipDamaged bool `config:"skipDamaged"`
}

// FleetLocation is an additional location of a fleet.
type FleetLocation struct {
	Name string  `config:"name"` // name of one of locations, or region
	Cost float64 `config:"cost"` // cost per hour; 0: the fleet's cost
}

// Fleet is a fleet that exists from the start.
type Fleet struct {
	// ID is the id, which begins with fleet-.
	ID   string `config:"id" level:"common"`
	Name string `config:"name" level:"common"` // name in the service API
	// Description is the description in the service API.
	Description string `config:"description"`
	// GameSessionsMax is the maximum number of concurrent game sessions in each of its locations.
	GameSessionsMax int `config:"gameSessionsMax" level:"common"`
	// Locations are the additional locations. The home region of every fleet is region.
	Locations []FleetLocation `config:"locations"`
	// Cost is the cost per hour; 0: the location's cost.
	Cost float64 `config:"cost"`
	// LaunchParameters is a text that the script receives as its launch parameters.
	LaunchParameters string `config:"launchParameters"`
	// Certificates is GENERATED or DISABLED. With GENERATED, the game sessions of the fleet announce the
	// secure ports.
	Certificates string `config:"certificates" level:"common" values:",GENERATED,DISABLED"`
	// ReconnectWindow is a duration; empty: the value of reconnect.window.
	ReconnectWindow string `config:"reconnectWindow"`
	// Script is the path of the script: a file, a folder or a .zip archive. If it is empty, game sessions
	// only relay messages.
	Script string `config:"script" level:"common"`
	// LaunchPath is the file of the script to start. If it is empty, it is main of the script's package.json,
	// or the only file.
	LaunchPath string `config:"launchPath"`
	// Engine is embedded or node. If it is empty, the script's package.json decides.
	Engine string `config:"engine" values:",embedded,node"`
	// Standby is the number of standby processes. 0 means 1 with node and none otherwise, and -1 means none.
	Standby int `config:"standby"`
	// NodeVersion is the Node.js version to be compatible with: 10.x or 24.x. If it is empty, it is 10.x.
	NodeVersion string `config:"nodeVersion" values:",10.x,24.x"`
	// Server is a game server that this host starts for the game sessions of the fleet, instead of a script.
	Server GameServer `config:"server"`
}

// GameServer is an executable that hosts game sessions and speaks the GameLift Server SDK. The host starts its
// processes, each for one game session, and starts another when one has ended.
type GameServer struct {
	Path string `config:"path" level:"common"` // path of the executable; empty: the fleet has no game server
	// Args are the arguments of each process; {port} in them is the port of the process.
	Args []string `config:"args"`
	// Env are variables of the processes' environment, as NAME=value; {port} is the port. They get nothing of the
	// host's environment.
	Env []string `config:"env"`
	Dir string   `config:"dir"` // working directory; empty: the folder of the executable
	// Ports is a range such as 7777-7876, of which each process gets one, also as the variable PORT. If it is empty,
	// the executable chooses its ports.
	Ports string `config:"ports"`
	// Processes is the number of processes in each location of the fleet, and so the number of its game sessions.
	Processes int `config:"processes"`
	// User is the name or number of the user that runs the processes, which gain no privileges (no sudo); the host must
	// run as root then. Empty: the host's own user.
	User string `config:"user"`
	// MemoryMax is the maximum bytes of memory of a process and all that it starts; 0: no limit.
	MemoryMax int `config:"memoryMax"`
	// CPUs is the number of processors that a process may use, such as 0.5; 0: no limit. It needs a control group
	// (version 2) that the host may divide.
	CPUs float64 `config:"cpus"`
}

// Script limits the resources of scripts. For the first three limits, 0 means no limit.
type Script struct {
	// Callback is the maximum duration of a call into a script; a longer call ends the game session.
	Callback  time.Duration `config:"callback"`
	TimersMax int           `config:"timersMax"` // maximum number of pending timers
	MemoryMax int           `config:"memoryMax"` // maximum bytes of memory for the script of one game session
	// KeepRunningOnError is whether errors outside of callbacks are only logged, instead of ending the game
	// session.
	KeepRunningOnError bool `config:"keepRunningOnError"`
	UnpackedMax        int  `config:"unpackedMax"` // maximum bytes of all files of a script
	// ProcessesMax is the maximum number of processes in a process group of a fleet that the service API
	// created.
	ProcessesMax int `config:"processesMax"`
	// ProcessGroupsMax is the maximum number of process groups of a fleet in one location. The service API
	// calls process groups instances.
	ProcessGroupsMax int `config:"processGroupsMax"`
	// EndEarlier is whether game sessions of earlier script versions accept no new players, and end when they
	// have none.
	EndEarlier bool `config:"endEarlier"`
	Node       Node `config:"node"`
}

// Node configures scripts in Node.js.
type Node struct {
	Dir string `config:"dir"`                // folder into which scripts are unpacked; empty: the folder for temporary files
	UID int    `config:"uid" level:"common"` // id of the user that runs scripts; 0: the host's own user
	GID int    `config:"gid"`                // id of the group that runs scripts; 0: the host's own group
	// AllowUploaded allows scripts that were uploaded through the service API to run in Node.js as the host's
	// own user, with all its permissions. Without it, they run in Node.js only if UID is another user, and in
	// the embedded engine otherwise. Scripts of the configuration come from the operator and may always use
	// Node.js.
	AllowUploaded bool `config:"allowUploaded"`
}

// Builds configures builds: game servers that callers of the service API run in fleets of their own.
type Builds struct {
	// Storage is a folder whose folders are the buckets of CreateBuild: Bucket is the name of one, and Key the path of a
	// zip archive or a folder in it. All hosts of a cluster need the same content there. No other host or cluster may
	// have the same folder, because uploads to it that this one does not know are deleted. If it is empty, there are no
	// builds.
	Storage string `config:"storage"`
	// Dir is the folder into which builds are unpacked. If it is empty, it is builds in the folder of store.path, or a
	// temporary folder if there is no store.path.
	Dir string `config:"dir"`
	// AllowUploaded allows uploads and fleets of builds: whoever may call CreateBuild and CreateFleet then runs programs on
	// this machine, as User.
	AllowUploaded bool `config:"allowUploaded"`
	// User is the name or number of the user that runs them; the host must run as root for that. It must be neither root
	// nor the host's own user, and run neither the server of a fleet nor scripts (script.node.uid). After a change, all
	// builds are unpacked again.
	User string `config:"user"`
	// Ports is a range such as 7800-7999, from which the fleets may choose their EC2InboundPermissions. Neither a listener
	// nor the server of another fleet may have ports of it. If it is empty, they have none, and the executables choose
	// their ports.
	Ports       string `config:"ports"`
	MemoryMax   int    `config:"memoryMax"`   // maximum bytes of memory of a process and all that it starts; 0: no limit
	UnpackedMax int    `config:"unpackedMax"` // maximum bytes of all files of a build. All builds on a host may have 25 times as many, and so may all uploads
}

// Alias is an alias that exists from the start. It has a Fleet for SIMPLE routing, or a Message for TERMINAL
// routing.
type Alias struct {
	ID      string `config:"id" level:"common"`    // id, which begins with alias-
	Name    string `config:"name"`                 // name in the service API
	Fleet   string `config:"fleet" level:"common"` // id of the fleet to which the alias leads
	Message string `config:"message"`              // text for callers, if the alias has no fleet
}

// Reconnect configures what happens to a player whose connection is lost.
type Reconnect struct {
	// Window is how long a player may reconnect, from 0 to 600 s. With 0, the host behaves like GameLift.
	Window time.Duration `config:"window" level:"common"`
	// Takeover is now or refuse. It decides what a login does if the player's connection is still open. With
	// now, the login replaces it. With refuse, a connection that shows a sign of life within 2 s stays.
	Takeover string `config:"takeover" values:"now,refuse"`
	// Rejoin is whether a player that has left may log in again, as a new player with the same peer id.
	Rejoin bool `config:"rejoin"`
	// Overflow is what happens when a player's outbox is full: gap drops messages and tells the player, and
	// end ends the player session.
	Overflow string `config:"overflow" values:"gap,end"`
	// StockAmbiguous is what happens to messages that a stock client may or may not have received: resend or
	// skip.
	StockAmbiguous string `config:"stockAmbiguous" values:"resend,skip"`
	// Acknowledge is whether sent messages are kept until they are confirmed.
	Acknowledge bool `config:"acknowledge"`
	// QueueBytesAll is the maximum number of bytes in all outboxes together; 0: a quarter of the memory.
	QueueBytesAll int `config:"queueBytesAll"`
}

// Session configures all game sessions.
type Session struct {
	// EmptyTimeout is the time without players after which a game session ends. With 0, it ends when the last
	// player leaves. With a negative value, it never ends for this reason.
	EmptyTimeout time.Duration `config:"emptyTimeout" level:"common"`
	PingInterval time.Duration `config:"pingInterval"` // interval of pings for scripts that do not set one
	// PlayerQueueBytes is the size of a player's outbox in bytes. A player whose outbox is 75 % full counts
	// as slow. At 100 % its connection is closed.
	PlayerQueueBytes    int `config:"playerQueueBytes"`
	PlayerQueueMessages int `config:"playerQueueMessages"` // maximum messages in a player's outbox
	// MailboxBytes is the maximum number of bytes of players' messages in a game session's queue; further messages are
	// dropped.
	MailboxBytes int `config:"mailboxBytes"`
	// MailboxMessages is the maximum number of players' messages in a game session's queue; further messages
	// are dropped.
	MailboxMessages int `config:"mailboxMessages"`
	// AnnouncePlayers is whether the other players get PLAYER_CONNECT and PLAYER_DISCONNECT.
	AnnouncePlayers    bool `config:"announcePlayers"`
	AnnounceAllPlayers bool `config:"announceAllPlayersGroup"` // whether players get membership updates of group -1
	// LegacyLoginPacket is whether to send an empty packet with op code 0 after the login.
	LegacyLoginPacket bool `config:"legacyLoginPacket"`
	// EndedMax is the maximum number of stored records of ended game sessions. Fewer are kept if they need
	// more than 512 MiB.
	EndedMax  int           `config:"endedMax"`
	EndedKeep time.Duration `config:"endedKeep"` // how long records of ended game sessions are kept
}

// Limits limits the resources that peers may use. For each of them, 0 means no limit.
type Limits struct {
	// LoginTimeout is the maximum time from accepting a connection to its LOGIN.
	LoginTimeout time.Duration `config:"loginTimeout"`
	// Unauthenticated is the maximum number of connections without a login. Above it, the connection that has
	// been silent longest is closed.
	Unauthenticated int `config:"unauthenticated"`
	// UnauthenticatedPerIP is the maximum number of connections without a login from one address, plus one
	// for each login of the address. Above it, connections wait.
	UnauthenticatedPerIP int `config:"unauthenticatedPerIP"`
	// ConnectionsPerIPPerSecond is the maximum rate of connections from one address that do not log in. Above
	// it, connections wait.
	ConnectionsPerIPPerSecond float64 `config:"connectionsPerIPPerSecond"`
	// ConnectionsPerIPBurst is the number of connections in a burst of connectionsPerIPPerSecond.
	ConnectionsPerIPBurst int `config:"connectionsPerIPBurst"`
	// ConnectionsHeld is the maximum number of waiting connections. Each waits for at most loginTimeout.
	// Further ones are reset. With 0, connections do not wait.
	ConnectionsHeld int `config:"connectionsHeld"`
	// LoginFailuresPerIPPerMinute is the maximum rate of logins with unknown ids from one address. Above it,
	// their refusals are delayed.
	LoginFailuresPerIPPerMinute int `config:"loginFailuresPerIPPerMinute"`
	// LoginsPerPlayerSessionPerMinute is the maximum rate of logins without a reconnect token. Above it, each
	// login waits for at most a second.
	LoginsPerPlayerSessionPerMinute int `config:"loginsPerPlayerSessionPerMinute"`
	// ResumesPerPlayerSessionPerMinute is the maximum rate of logins with a reconnect token. Above it, each
	// login waits for at most a second.
	ResumesPerPlayerSessionPerMinute int `config:"resumesPerPlayerSessionPerMinute"`
	// LoginsPerSecond is the maximum rate of logins of all players together. Reconnecting players take
	// precedence.
	LoginsPerSecond float64 `config:"loginsPerSecond"`
	// LoginsWaiting is the maximum number of logins that wait because of loginsPerSecond. Further new players
	// are told to retry later.
	LoginsWaiting int `config:"loginsWaiting"`
	// PlayerMessagesPerSecond is the maximum rate of one player's messages; further messages are dropped.
	PlayerMessagesPerSecond float64 `config:"playerMessagesPerSecond"`
	// PlayerMessagesBurst is the number of messages in a burst of playerMessagesPerSecond.
	PlayerMessagesBurst float64 `config:"playerMessagesBurst"`
	// PlayerBytesPerSecond is the maximum rate of one player's bytes; further messages are dropped.
	PlayerBytesPerSecond float64 `config:"playerBytesPerSecond"`
	// TooFastFor is the time after which a player that stays above its rate is disconnected.
	TooFastFor time.Duration `config:"tooFastFor"`
	// GroupOperationsPerSecond is the maximum rate of one player's joins and leaves of groups.
	GroupOperationsPerSecond float64 `config:"groupOperationsPerSecond"`
	// GameSessionBytesPerSecond is the maximum rate of reliable bytes that all players of a game session
	// together send to groups and to the game. Above it, the players that send most wait.
	GameSessionBytesPerSecond int `config:"gameSessionBytesPerSecond"`
	// DeliveriesPerGameSessionPerSecond is the maximum rate at which a game session delivers players'
	// messages, counted once for each recipient.
	DeliveriesPerGameSessionPerSecond int `config:"deliveriesPerGameSessionPerSecond"`
}

// Flush configures when output is written to connections.
type Flush struct {
	Interval string `config:"interval"` // adaptive, or a duration; 0s: after every batch
}

// Drain configures how the host stops.
type Drain struct {
	Grace time.Duration `config:"grace" level:"common"` // how long game sessions with players may continue
}

// Log is the host's log.
type Log struct {
	Level string `config:"level" level:"common" values:"debug,info,warn,error"` // lowest level of the lines that are written
	// Format is json (one JSON object per line) or pretty (text for people).
	Format string `config:"format" values:"json,pretty"`
	// GameSessions configures the logs of game sessions.
	GameSessions GameSessionLogs `config:"gameSessions"`
}

// GameSessionLogs are the logs that scripts write, as files of one folder.
type GameSessionLogs struct {
	// Dir is the folder of the logs. If it is empty, it is troupe/game-session-logs in the user's state
	// folder, or in the folder for temporary files.
	Dir  string        `config:"dir" level:"common"`
	Keep time.Duration `config:"keep"` // how long a log is kept after its game session has ended
	Show bool          `config:"show"` // whether to copy the lines to the host's log, for development
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
		Cluster:     Cluster{Locations: []string{}, Generation: 1, Etcd: EtcdUse{Endpoints: []string{}, Compact: 10 * time.Minute}, Peers: Peers{Addr: "127.0.0.1:33480"}},
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
		Builds: Builds{UnpackedMax: builds.DefaultUnpackedMax},
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

package sdkclient

import "time"

// GameSession is a game session as both pushes give it to the process. The two have different names for the name.
type GameSession struct {
	GameSessionId             string //nolint:revive // the name on the wire
	Name                      string `json:",omitzero"`
	GameSessionName           string `json:",omitzero"` // of CreateGameSession; a Process moves it to Name
	FleetId                   string //nolint:revive // the name on the wire
	MaximumPlayerSessionCount int
	IpAddress                 string //nolint:revive // the name on the wire
	Port                      int
	DnsName                   string
	GameProperties            map[string]string
	GameSessionData           string
	MatchmakerData            string
	Status                    string
}

// GameSessionUpdate is an UpdateGameSession push.
type GameSessionUpdate struct {
	GameSession      GameSession
	UpdateReason     string
	BackfillTicketId string //nolint:revive // the name on the wire
}

// DescribePlayerSessions is a request for player sessions: exactly one of the ids is set.
type DescribePlayerSessions struct {
	GameSessionId             string `json:",omitzero"` //nolint:revive // the name on the wire
	PlayerSessionId           string `json:",omitzero"` //nolint:revive // the name on the wire
	PlayerId                  string `json:",omitzero"` //nolint:revive // the name on the wire
	PlayerSessionStatusFilter string `json:",omitzero"`
	NextToken                 string `json:",omitzero"`
	Limit                     int    `json:",omitzero"`
}

// PlayerSessions is a page of player sessions. NextToken is empty at the end.
type PlayerSessions struct {
	NextToken      string
	PlayerSessions []PlayerSession
}

// PlayerSession is a player session.
type PlayerSession struct {
	PlayerSessionId, PlayerId, GameSessionId, FleetId, PlayerData, IpAddress, DnsName string //nolint:revive // the names on the wire
	Port                                                                              int
	CreationTime, TerminationTime                                                     int64 // ms since 1970; 0: not ended
	Status                                                                            string
}

// Backfill is a StartMatchBackfill request, and a StopMatchBackfill request without Players.
type Backfill struct {
	TicketId                    string //nolint:revive // the name on the wire
	GameSessionArn              string
	MatchmakingConfigurationArn string
	Players                     []BackfillPlayer `json:",omitzero"`
}

// BackfillPlayer is a player that is in the game session.
type BackfillPlayer struct {
	PlayerId         string //nolint:revive // the name on the wire
	Team             string
	PlayerAttributes map[string]Attribute
	LatencyInMs      map[string]int
}

// Attribute is an attribute of a player: the member that AttrType names.
type Attribute struct {
	AttrType string             // STRING, DOUBLE, STRING_LIST, STRING_DOUBLE_MAP or NONE
	S        string             `json:",omitzero"`
	N        float64            `json:",omitzero"`
	SL       []string           `json:",omitzero"`
	SDM      map[string]float64 `json:",omitzero"`
}

// Certificate is the result of GetComputeCertificate.
type Certificate struct{ CertificatePath, ComputeName string }

// Stats counts what a process did. It is a snapshot.
type Stats struct {
	Attempts    int       // handshakes
	Connections int       // handshakes that were accepted
	Status      int       // HTTP status of the last handshake that was refused
	Connected   bool      // the current connection is open
	ConnectedAt time.Time // of the last handshake that was accepted
	Heartbeats  int       // that were answered with 200
	Ignored     int       // pushes that came before the process was ready
	Unmatched   int       // responses to a request that is not waiting: late ones, and second ones
	Pings       int       // websocket pings of the host
	Pongs       int       // websocket pongs of the host
}

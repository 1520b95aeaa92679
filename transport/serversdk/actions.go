package serversdk

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"troupe/messages/lazy"
)

// Names of the actions that have no fields, and of the pushes.
const (
	TerminateServerProcess = "TerminateServerProcess"
	GetComputeCertificate  = "GetComputeCertificate"

	PushCreateGameSession = "CreateGameSession"
	PushUpdateGameSession = "UpdateGameSession"
	PushTerminateProcess  = "TerminateProcess"
	PushRefreshConnection = "RefreshConnection"
)

// Fields of requests (server-sdk.md 7). Parse has checked all limits that need no state.
type (
	ActivateServerProcessFields struct {
		SdkVersion, SdkLanguage, SdkToolName, SdkToolVersion string //nolint:revive // the names on the wire
		Port                                                 int    // 1 to 60000
		LogPaths                                             []string
	}
	HeartbeatServerProcessFields struct {
		HealthStatus bool
	}
	ActivateGameSessionFields struct {
		GameSessionId string //nolint:revive // the name on the wire
	}
	UpdatePlayerSessionCreationPolicyFields struct {
		GameSessionId       string //nolint:revive // the name on the wire
		PlayerSessionPolicy string // ACCEPT_ALL or DENY_ALL
	}
	// AcceptPlayerSessionFields are also the fields of RemovePlayerSession.
	AcceptPlayerSessionFields struct {
		GameSessionId, PlayerSessionId string //nolint:revive // the names on the wire
	}
	DescribePlayerSessionsFields struct {
		GameSessionId, PlayerSessionId, PlayerId string //nolint:revive // exactly one is set
		PlayerSessionStatusFilter, NextToken     string
		Limit                                    int // 1 to PageMax
	}
	StartMatchBackfillFields struct {
		TicketId                                    string //nolint:revive // empty: the host makes one
		GameSessionArn, MatchmakingConfigurationArn string
		Players                                     []BackfillPlayer
	}
	StopMatchBackfillFields struct {
		TicketId, GameSessionArn, MatchmakingConfigurationArn string //nolint:revive // the names on the wire
	}
	GetFleetRoleCredentialsFields struct {
		RoleArn, RoleSessionName string
	}
	// BackfillPlayer is a player of a game session that asks for more.
	BackfillPlayer struct {
		PlayerId, Team   string //nolint:revive // the names on the wire
		PlayerAttributes map[string]Attribute
		LatencyInMs      map[string]int
	}
	// Attribute is an attribute of a player: the member that AttrType names.
	Attribute struct {
		AttrType string // STRING, DOUBLE, STRING_LIST, STRING_DOUBLE_MAP or NONE
		S        string
		N        float64
		SL       []string
		SDM      map[string]float64
	}
)

// Results of requests.
type (
	DescribePlayerSessionsResult struct {
		NextToken      string
		PlayerSessions []PlayerSession
	}
	StartMatchBackfillResult struct {
		TicketId string //nolint:revive // the name on the wire
	}
	GetComputeCertificateResult struct {
		CertificatePath, ComputeName string
	}
	// GetFleetRoleCredentialsResult is zero if the host has no credentials. The SDKs then refuse it to the game (D-420).
	GetFleetRoleCredentialsResult struct {
		AssumedRoleUserArn, AssumedRoleId, AccessKeyId, SecretAccessKey, SessionToken string //nolint:revive // the names on the wire
		Expiration                                                                    int64  // ms since 1970
	}
	// PlayerSession is a player session of DescribePlayerSessions.
	PlayerSession struct {
		PlayerSessionId, PlayerId, GameSessionId, FleetId, PlayerData, IpAddress, DnsName string //nolint:revive // the names on the wire
		Port                                                                              int
		CreationTime, TerminationTime                                                     int64 // ms since 1970; 0: not ended
		Status                                                                            string
	}
)

// Fields of pushes (server-sdk.md 8).
type (
	CreateGameSessionPush struct {
		GameSessionId, GameSessionName  string //nolint:revive // the names on the wire
		MaximumPlayerSessionCount       int
		IpAddress                       string //nolint:revive // the name on the wire
		Port                            int
		DnsName                         string
		GameProperties                  map[string]string
		GameSessionData, MatchmakerData string
	}
	UpdateGameSessionPush struct {
		UpdateReason, BackfillTicketId string //nolint:revive // the names on the wire
		GameSession                    GameSession
	}
	// GameSession is the game session of UpdateGameSessionPush. It is complete, because SDKs replace their copy.
	GameSession struct {
		GameSessionId, Name, FleetId            string //nolint:revive // the names on the wire
		MaximumPlayerSessionCount               int
		IpAddress                               string //nolint:revive // the name on the wire
		Port                                    int
		DnsName                                 string
		GameProperties                          map[string]string
		GameSessionData, MatchmakerData, Status string
	}
	TerminateProcessPush struct {
		TerminationTime int64 // ms since 1970: when the process is ended by force
	}
	RefreshConnectionPush struct {
		RefreshConnectionEndpoint, AuthToken string
	}
)

const (
	// PageMax is the default and maximum of DescribePlayerSessions. Builds of the C++ SDK without the STL take no more.
	PageMax = 50 // D-412

	portMax        = 60000
	logPathsMax    = 10
	logPathMax     = 1024
	idMax          = 256
	ticketMax      = 128
	playerMax      = 1024 // of a player id, as in the service API
	backfillMax    = 200  // players
	attributesMax  = 10   // of a player
	textMax        = 1024 // of a name and of a text in an attribute, in characters, as in the service API
	listMax        = 100  // texts in an attribute
	mapMax         = 10   // pairs in an attribute
	latenciesMax   = 100  // of a player, as in the service API
	filterMax      = 1024 // of PlayerSessionStatusFilter and NextToken
	describeMax    = 1024 // of Limit, in the model
	policyAccept   = "ACCEPT_ALL"
	policyDeny     = "DENY_ALL"
	roleMax        = 2048
	roleSessionMax = 64
)

var (
	gameSessionForm = lazy.Regexp(`\A[a-zA-Z0-9:/-]{1,256}\z`)
	playerSessForm  = lazy.Regexp(`\A[a-zA-Z0-9.-]{1,256}\z`)
	ticketForm      = lazy.Regexp(`\A[a-zA-Z0-9.-]{0,128}\z`)
	matcherForm     = lazy.Regexp(`\Aarn:aws(-cn)?:gamelift:[a-z]{2}-[a-z]+-[0-9]:([0-9]{12})?:[a-z]+/.+\z`)
)

// actions reads the fields of each action. The error is a sentence without a full stop.
var actions = map[string]func(frame []byte) (any, error){
	"ActivateServerProcess":             fields(checkActivateProcess),
	"HeartbeatServerProcess":            readHeartbeat,
	TerminateServerProcess:              noFields,
	"ActivateGameSession":               fields(func(f *ActivateGameSessionFields) error { return checkGameSession(f.GameSessionId) }),
	"UpdatePlayerSessionCreationPolicy": fields(checkPolicy),
	"AcceptPlayerSession":               fields(checkPlayerSession),
	"RemovePlayerSession":               fields(checkPlayerSession),
	"DescribePlayerSessions":            fields(checkDescribe),
	"StartMatchBackfill":                fields(checkBackfill),
	"StopMatchBackfill":                 fields(checkStopBackfill),
	GetComputeCertificate:               noFields,
	"GetFleetRoleCredentials":           fields(checkCredentials),
}

func noFields([]byte) (any, error) { return nil, nil }

// fields returns a function that reads an F and checks it.
func fields[F any](check func(*F) error) func([]byte) (any, error) {
	return func(frame []byte) (any, error) {
		f := new(F)
		if err := json.Unmarshal(frame, f, lenient); err != nil {
			return nil, wrongType(err)
		}
		if err := check(f); err != nil {
			return nil, err
		}
		return *f, nil
	}
}

// wrongType names the member that cannot be read.
func wrongType(err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && semantic.JSONPointer != "" {
		return fmt.Errorf("%s has a wrong type", clip(string(semantic.JSONPointer[1:])))
	}
	return errors.New("The message cannot be read")
}

// clip shortens a text of the peer for an error.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most]
	}
	return text
}

func readHeartbeat(frame []byte) (any, error) {
	var f struct{ HealthStatus *bool }
	switch err := json.Unmarshal(frame, &f, lenient); {
	case err != nil:
		return nil, wrongType(err)
	case f.HealthStatus == nil:
		return nil, errors.New("HealthStatus is required")
	}
	return HeartbeatServerProcessFields{*f.HealthStatus}, nil
}

func checkActivateProcess(f *ActivateServerProcessFields) error {
	switch {
	case f.Port < 1 || f.Port > portMax:
		return fmt.Errorf("Port must be 1 to %d", portMax)
	case len(f.LogPaths) > logPathsMax:
		return fmt.Errorf("LogPaths may have at most %d paths", logPathsMax)
	case max(len(f.SdkVersion), len(f.SdkLanguage), len(f.SdkToolName), len(f.SdkToolVersion)) > idMax:
		return fmt.Errorf("The SDK's version, language and tool may have at most %d characters", idMax)
	}
	for _, path := range f.LogPaths {
		if utf8.RuneCountInString(path) > logPathMax {
			return fmt.Errorf("A path of LogPaths may have at most %d characters", logPathMax)
		}
	}
	return nil
}

func checkGameSession(id string) error {
	if !gameSessionForm().MatchString(id) {
		return errors.New("GameSessionId is not the id of a game session")
	}
	return nil
}

func checkPolicy(f *UpdatePlayerSessionCreationPolicyFields) error {
	if f.PlayerSessionPolicy != policyAccept && f.PlayerSessionPolicy != policyDeny {
		return fmt.Errorf("PlayerSessionPolicy must be %s or %s", policyAccept, policyDeny)
	}
	return checkGameSession(f.GameSessionId)
}

func checkPlayerSession(f *AcceptPlayerSessionFields) error {
	if !playerSessForm().MatchString(f.PlayerSessionId) {
		return errors.New("PlayerSessionId is not the id of a player session")
	}
	return checkGameSession(f.GameSessionId)
}

func checkDescribe(f *DescribePlayerSessionsFields) error {
	selectors := 0
	for _, s := range []string{f.GameSessionId, f.PlayerSessionId, f.PlayerId} {
		if s != "" {
			selectors++
		}
	}
	switch f.PlayerSessionStatusFilter {
	case "", "RESERVED", "ACTIVE", "COMPLETED", "TIMEDOUT":
	default:
		return errors.New("PlayerSessionStatusFilter must be RESERVED, ACTIVE, COMPLETED or TIMEDOUT")
	}
	switch {
	case selectors != 1:
		return errors.New("Give exactly one of GameSessionId, PlayerSessionId and PlayerId")
	case f.Limit < 0 || f.Limit > describeMax:
		return fmt.Errorf("Limit must be 1 to %d", describeMax)
	case len(f.GameSessionId) > idMax || len(f.PlayerSessionId) > idMax || utf8.RuneCountInString(f.PlayerId) > playerMax || len(f.NextToken) > filterMax:
		return errors.New("An id is too long")
	}
	if f.Limit == 0 || f.Limit > PageMax {
		f.Limit = PageMax
	}
	return nil
}

func checkStopBackfill(f *StopMatchBackfillFields) error {
	switch {
	case f.TicketId == "" || !ticketForm().MatchString(f.TicketId):
		return fmt.Errorf("TicketId must be 1 to %d letters, digits, hyphens and dots", ticketMax)
	case len(f.MatchmakingConfigurationArn) > idMax || !matcherForm().MatchString(f.MatchmakingConfigurationArn):
		return errors.New("MatchmakingConfigurationArn is not the ARN of a matchmaking configuration")
	case !gameSessionForm().MatchString(f.GameSessionArn):
		return errors.New("GameSessionArn is not the ARN of a game session")
	}
	return nil
}

func checkBackfill(f *StartMatchBackfillFields) error {
	ticket := f.TicketId
	if ticket == "" {
		ticket = "new"
	}
	if err := checkStopBackfill(&StopMatchBackfillFields{ticket, f.GameSessionArn, f.MatchmakingConfigurationArn}); err != nil {
		return err
	}
	if len(f.Players) == 0 || len(f.Players) > backfillMax {
		return fmt.Errorf("Players must have 1 to %d players", backfillMax)
	}
	seen := make(map[string]bool, len(f.Players))
	for i := range f.Players {
		p := &f.Players[i]
		if err := p.check(); err != nil {
			return fmt.Errorf("Players[%d]: %w", i, err)
		}
		if seen[p.PlayerId] {
			return fmt.Errorf("Players[%d]: the player is there twice", i)
		}
		seen[p.PlayerId] = true
	}
	return nil
}

func (p *BackfillPlayer) check() error {
	switch {
	case p.PlayerId == "" || utf8.RuneCountInString(p.PlayerId) > playerMax:
		return fmt.Errorf("PlayerId must have 1 to %d characters", playerMax)
	case p.Team == "" || len(p.Team) > playerMax:
		return errors.New("Team is required")
	case len(p.PlayerAttributes) > attributesMax:
		return fmt.Errorf("at most %d PlayerAttributes", attributesMax)
	case len(p.LatencyInMs) > latenciesMax:
		return fmt.Errorf("at most %d locations in LatencyInMs", latenciesMax)
	}
	for name, a := range p.PlayerAttributes {
		switch a.AttrType {
		case "STRING", "DOUBLE", "STRING_LIST", "STRING_DOUBLE_MAP", "NONE":
		default:
			return fmt.Errorf("attribute %q: AttrType must be STRING, DOUBLE, STRING_LIST, STRING_DOUBLE_MAP or NONE", clip(name))
		}
		if err := a.check(name); err != nil {
			return fmt.Errorf("attribute %q: %w", clip(name), err)
		}
	}
	for location, ms := range p.LatencyInMs {
		if ms < 1 {
			return fmt.Errorf("the latency in %q must be at least 1", clip(location))
		}
	}
	return nil
}

// check checks the sizes of an attribute, which goes into the ticket and the matchmaker data.
func (a *Attribute) check(name string) error {
	if len(a.SL) > listMax || len(a.SDM) > mapMax {
		return fmt.Errorf("at most %d texts in SL, and %d pairs in SDM", listMax, mapMax)
	}
	long := max(utf8.RuneCountInString(name), utf8.RuneCountInString(a.S))
	for _, s := range a.SL {
		long = max(long, utf8.RuneCountInString(s))
	}
	for key := range a.SDM {
		long = max(long, utf8.RuneCountInString(key))
	}
	if long > textMax {
		return fmt.Errorf("a name or a text may have at most %d characters", textMax)
	}
	return nil
}

func checkCredentials(f *GetFleetRoleCredentialsFields) error {
	if f.RoleArn == "" || len(f.RoleArn) > roleMax {
		return fmt.Errorf("RoleArn must have 1 to %d characters", roleMax)
	}
	if n := len(f.RoleSessionName); n != 0 && (n < 2 || n > roleSessionMax) {
		return fmt.Errorf("RoleSessionName must have 2 to %d characters", roleSessionMax)
	}
	return nil
}

package serviceapi

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"troupe/transport/serviceapi/serviceapitest"
)

// node runs the scripts of serviceapitest, with testKey.
type node struct{ *serviceapitest.Node }

// nodeResult is what the script prints: ids and what it saw.
type nodeResult struct {
	Protocol         string            `json:"protocol"`
	GameSessionID    string            `json:"gameSessionId"`
	GameSession      nodeGameSession   `json:"gameSession"` // once ACTIVE
	CreationTimeMS   int64             `json:"creationTimeMs"`
	PlayerSessionIDs []string          `json:"playerSessionIds"` // in order of creation
	Described        []nodePlayer      `json:"described"`        // from all pages, two to a page
	Pages            int               `json:"pages"`
	Searched         []string          `json:"searched"` // ids
	FleetIDs         []string          `json:"fleetIds"`
	FleetStatus      string            `json:"fleetStatus"`
	Errors           map[string]string `json:"errors"` // what was tried -> the error's class
}

// nodeGameSession is a game session as the script saw it.
type nodeGameSession struct {
	Status      string `json:"status"`
	FleetARN    string `json:"fleetArn"`
	IPAddress   string `json:"ipAddress"`
	DNSName     string `json:"dnsName"`
	Port        int    `json:"port"`
	CurrentSeen bool   `json:"currentSeen"` // CurrentPlayerSessionCount was there, though 0
}

// nodePlayer is a player session as the script saw it.
type nodePlayer struct {
	ID       string `json:"id"`
	PlayerID string `json:"playerId"`
	Status   string `json:"status"`
}

// run makes the script play through the API at endpoint: a game session with
// four seats on the fleet, player sessions, descriptions, typed errors. It
// waits up to 15 s for the game session to become ACTIVE. protocol is json or
// cbor. The script's complaint fails the test.
func (n *node) run(tb testing.TB, endpoint, fleetID, protocol string) nodeResult {
	tb.Helper()
	var result nodeResult
	n.play(tb, "gamelift.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_FLEET_ID="+fleetID, "TROUPE_PROTOCOL="+protocol)
	return result
}

// nodeScripts is what runScripts saw.
type nodeScripts struct {
	ScriptID    string            `json:"scriptId"`
	Size        int               `json:"size"`
	NodeVersion string            `json:"nodeVersion"`
	Versions    []string          `json:"versions"` // created, updated, described
	Listed      []string          `json:"listed"`
	FleetID     string            `json:"fleetId"`
	FleetStatus string            `json:"fleetStatus"`
	Locations   []string          `json:"locations"`
	Concurrent  int               `json:"concurrent"` // processes after the update
	Events      []string          `json:"events"`     // codes, as answered
	EventTimes  bool              `json:"eventTimes"` // all have a time and a count
	Errors      map[string]string `json:"errors"`
}

// runScripts makes scripts.mjs take a script, which is an archive with main.js,
// and a fleet of it through their lives.
func (n *node) runScripts(tb testing.TB, endpoint, protocol string, zip []byte) nodeScripts {
	tb.Helper()
	var result nodeScripts
	n.play(tb, "scripts.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_PROTOCOL="+protocol,
		"TROUPE_ZIP="+base64.StdEncoding.EncodeToString(zip))
	return result
}

// play runs a script and reads what it prints.
func (n *node) play(tb testing.TB, file string, result any, env ...string) {
	tb.Helper()
	env = append(env, "AWS_ACCESS_KEY_ID="+testKey, "AWS_SECRET_ACCESS_KEY="+testSecret)
	out := n.Run(tb, 2*time.Minute, env, "node", file)
	if err := json.Unmarshal(out, result); err != nil {
		tb.Fatalf("%s printed no JSON: %v\n%s", file, err, out)
	}
}

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

// nodeResult is the output of gamelift.mjs.
type nodeResult struct {
	Protocol         string            `json:"protocol"`
	GameSessionID    string            `json:"gameSessionId"`
	GameSession      nodeGameSession   `json:"gameSession"` // after it became ACTIVE
	CreationTimeMS   int64             `json:"creationTimeMs"`
	PlayerSessionIDs []string          `json:"playerSessionIds"` // in order of creation
	Described        []nodePlayer      `json:"described"`        // all pages together; a page has two entries
	Pages            int               `json:"pages"`
	Searched         []string          `json:"searched"` // ids of the game sessions found
	FleetIDs         []string          `json:"fleetIds"`
	FleetStatus      string            `json:"fleetStatus"`
	Errors           map[string]string `json:"errors"` // what was tried -> class of the error
}

// nodeGameSession is a game session as the script received it.
type nodeGameSession struct {
	Status      string `json:"status"`
	FleetARN    string `json:"fleetArn"`
	IPAddress   string `json:"ipAddress"`
	DNSName     string `json:"dnsName"`
	Port        int    `json:"port"`
	CurrentSeen bool   `json:"currentSeen"` // CurrentPlayerSessionCount was present, although it is 0
}

// nodePlayer is a player session as the script received it.
type nodePlayer struct {
	ID       string `json:"id"`
	PlayerID string `json:"playerId"`
	Status   string `json:"status"`
}

// run makes the script call the API at endpoint: it creates a game session with four seats on the fleet, then
// player sessions, describes both, and provokes typed errors. It waits up to 15 s for the game session to
// become ACTIVE. protocol is json or cbor. An error of the script fails the test.
func (n *node) run(tb testing.TB, endpoint, fleetID, protocol string) nodeResult {
	tb.Helper()
	var result nodeResult
	n.play(tb, "gamelift.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_FLEET_ID="+fleetID, "TROUPE_PROTOCOL="+protocol)
	return result
}

// nodeScripts is the output of scripts.mjs.
type nodeScripts struct {
	ScriptID    string            `json:"scriptId"`
	Size        int               `json:"size"`
	NodeVersion string            `json:"nodeVersion"`
	Versions    []string          `json:"versions"` // as returned by create, update and describe
	Listed      []string          `json:"listed"`
	FleetID     string            `json:"fleetId"`
	FleetStatus string            `json:"fleetStatus"`
	Locations   []string          `json:"locations"`
	Concurrent  int               `json:"concurrent"` // concurrent processes after the update
	Events      []string          `json:"events"`     // event codes, in the order of the response
	EventTimes  bool              `json:"eventTimes"` // whether all events have a time and a count
	Errors      map[string]string `json:"errors"`
}

// runScripts makes scripts.mjs create, update and delete a script and a fleet that runs it. zip is an archive
// with main.js.
func (n *node) runScripts(tb testing.TB, endpoint, protocol string, zip []byte) nodeScripts {
	tb.Helper()
	var result nodeScripts
	n.play(tb, "scripts.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_PROTOCOL="+protocol,
		"TROUPE_ZIP="+base64.StdEncoding.EncodeToString(zip))
	return result
}

// play runs a script and decodes its output to result.
func (n *node) play(tb testing.TB, file string, result any, env ...string) {
	tb.Helper()
	env = append(env, "AWS_ACCESS_KEY_ID="+testKey, "AWS_SECRET_ACCESS_KEY="+testSecret)
	out := n.Run(tb, 2*time.Minute, env, "node", file)
	if err := json.Unmarshal(out, result); err != nil {
		tb.Fatalf("%s printed no JSON: %v\n%s", file, err, out)
	}
}

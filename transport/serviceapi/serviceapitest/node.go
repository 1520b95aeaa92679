package serviceapitest

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

//go:embed testdata/js
var script embed.FS

const (
	scriptDir  = "testdata/js"
	installFor = 5 * time.Minute
	runFor     = 2 * time.Minute
)

// Node is an installed copy of testdata/js: @aws-sdk/client-gamelift at pinned
// versions and the script gamelift.mjs.
type Node struct {
	dir string
	env []string
}

// WithKey returns a Node that signs with an access key instead of example values.
func (n *Node) WithKey(id, secret string) *Node {
	return &Node{n.dir, []string{"AWS_ACCESS_KEY_ID=" + id, "AWS_SECRET_ACCESS_KEY=" + secret}}
}

// NodeResult is what the script prints: ids and what it saw.
type NodeResult struct {
	Protocol         string            `json:"protocol"`
	GameSessionID    string            `json:"gameSessionId"`
	GameSession      NodeGameSession   `json:"gameSession"` // once ACTIVE
	CreationTimeMS   int64             `json:"creationTimeMs"`
	PlayerSessionIDs []string          `json:"playerSessionIds"` // in order of creation
	Described        []NodePlayer      `json:"described"`        // from all pages, two to a page
	Pages            int               `json:"pages"`
	Searched         []string          `json:"searched"` // ids
	FleetIDs         []string          `json:"fleetIds"`
	FleetStatus      string            `json:"fleetStatus"`
	Errors           map[string]string `json:"errors"` // what was tried -> the error's class
}

// NodeGameSession is a game session as the script saw it.
type NodeGameSession struct {
	Status      string `json:"status"`
	FleetARN    string `json:"fleetArn"`
	IPAddress   string `json:"ipAddress"`
	DNSName     string `json:"dnsName"`
	Port        int    `json:"port"`
	CurrentSeen bool   `json:"currentSeen"` // CurrentPlayerSessionCount was there, though 0
}

// NodePlayer is a player session as the script saw it.
type NodePlayer struct {
	ID       string `json:"id"`
	PlayerID string `json:"playerId"`
	Status   string `json:"status"`
}

// InstallNode installs the script's packages into a temporary directory. Only a
// missing node or npm skips the test; a registry that does not answer fails it.
func InstallNode(tb testing.TB) *Node {
	tb.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skipf("%s is not installed: the JavaScript SDK was not tried", tool)
		}
	}
	dir := tb.TempDir()
	entries, err := fs.ReadDir(script, scriptDir)
	if err != nil {
		tb.Fatalf("read the script: %v", err)
	}
	for _, e := range entries {
		text, err := script.ReadFile(scriptDir + "/" + e.Name())
		if err != nil {
			tb.Fatalf("read %s: %v", e.Name(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600); err != nil {
			tb.Fatalf("write %s: %v", e.Name(), err)
		}
	}
	n := &Node{dir: dir}
	n.command(tb, installFor, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	return n
}

// Dir is where the packages are: a script in it may import them.
func (n *Node) Dir() string { return n.dir }

// Run makes the script play through the API at endpoint: a game session with
// four seats on the fleet, player sessions, descriptions, typed errors. It
// waits up to 15 s for the game session to become ACTIVE. protocol is json or
// cbor. The script's complaint fails the test.
func (n *Node) Run(tb testing.TB, endpoint, fleetID, protocol string) NodeResult {
	tb.Helper()
	var result NodeResult
	n.play(tb, "gamelift.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_FLEET_ID="+fleetID, "TROUPE_PROTOCOL="+protocol)
	return result
}

// NodeScripts is what RunScripts saw.
type NodeScripts struct {
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

// RunScripts makes scripts.mjs take a script, which is an archive with main.js,
// and a fleet of it through their lives.
func (n *Node) RunScripts(tb testing.TB, endpoint, protocol string, zip []byte) NodeScripts {
	tb.Helper()
	var result NodeScripts
	n.play(tb, "scripts.mjs", &result, "TROUPE_ENDPOINT="+endpoint, "TROUPE_PROTOCOL="+protocol,
		"TROUPE_ZIP="+base64.StdEncoding.EncodeToString(zip))
	return result
}

// play runs a script and reads what it prints.
func (n *Node) play(tb testing.TB, file string, result any, env ...string) {
	tb.Helper()
	out := n.command(tb, runFor, env, "node", file)
	if err := json.Unmarshal(out, result); err != nil {
		tb.Fatalf("%s printed no JSON: %v\n%s", file, err, out)
	}
}

func (n *Node) command(tb testing.TB, limit time.Duration, env []string, name string, args ...string) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, &out, &complaint
	cmd.Env = slices.Concat(os.Environ(), n.env, env)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s %v: %v\n%s%s", name, args, err, out.Bytes(), complaint.Bytes())
	}
	return out.Bytes()
}

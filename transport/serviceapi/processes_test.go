package serviceapi

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport/serviceapi/serviceapitest"
)

// listen serves the API on a real socket, for clients in other processes.
func (a *api) listen(t *testing.T) string {
	t.Helper()
	listener := httptest.NewServer(a)
	t.Cleanup(listener.Close)
	return listener.URL
}

// API-14, API-18.
func TestTheSDKForJavaScript(t *testing.T) {
	node := &node{serviceapitest.InstallNode(t)}
	for _, c := range []struct {
		protocol string
		off      time.Duration
	}{{"cbor", -20 * time.Minute}, {"json", 20 * time.Minute}, {"json", 0}, {"cbor", 0}} {
		a := newAPI(t, offBy(c.off), withKeys)
		a.fake.happened(messages.FleetEvent{ID: "e", Code: "FLEET_CREATED", Message: "m", Time: epochStart, Count: 1})
		url := a.listen(t)
		playsWithNode(t, a, node.run(t, url+"/prefix", fleetOne, c.protocol))
		if testing.Short() {
			return // other tests cover the rest of the protocol without starting a process
		}
		got := node.runScripts(t, url, c.protocol, []byte("PK"))
		want := nodeScripts{
			ScriptID: "script-0000", Size: 2, NodeVersion: "24.x", Versions: []string{"1", "2", "2"}, Listed: []string{"script-0000"},
			FleetID: "fleet-0002", FleetStatus: "NEW", Locations: []string{"us-east-1"}, Concurrent: 3, Events: []string{"FLEET_CREATED"}, EventTimes: true,
			Errors: map[string]string{"deletedTwice": "InvalidFleetStatusException", "unknownScript": "NotFoundException"},
		}
		if !reflect.DeepEqual(got, want) || string(a.fake.made[0].Zip) != "PK" || string(a.fake.changed[0].Zip) != "PK" {
			t.Errorf("%+v: got %+v, want %+v; zips %q, %q", c, got, want, a.fake.made[0].Zip, a.fake.changed[0].Zip)
		}
	}
}

func playsWithNode(t *testing.T, a *api, got nodeResult) {
	t.Helper()
	if !strings.HasPrefix(got.GameSessionID, "arn:aws:gamelift:us-east-1::gamesession/fleet-one/gsess-") ||
		got.GameSession.Status != "ACTIVE" || got.GameSession.Port != 7000 || got.GameSession.IPAddress == "" || !got.GameSession.CurrentSeen ||
		got.CreationTimeMS != a.fake.games[0].Created.Round(1e6).UnixMilli() {
		t.Errorf("game session: %+v", got)
	}
	var ids, players []string
	for _, p := range got.Described {
		ids, players = append(ids, p.ID), append(players, p.PlayerID)
	}
	if got.Pages != 2 || !slices.Equal(ids, got.PlayerSessionIDs) || !slices.Equal(players, []string{"js-1", "js-2", "js-3"}) {
		t.Errorf("player sessions: %+v", got)
	}
	if !slices.Equal(got.Searched, []string{got.GameSessionID}) || !slices.Contains(got.FleetIDs, fleetOne) || got.FleetStatus != "ACTIVE" {
		t.Errorf("search and fleets: %+v", got)
	}
	if name := a.fake.created[0].Name; name != "from JavaScript \u2603" {
		t.Errorf("name %q", name)
	}
	if e := got.Errors; e["unknownGameSession"] != "NotFoundException" || e["full"] != "GameSessionFullException" || e["noSelector"] != invalidRequest {
		t.Errorf("errors: %v", e)
	}
}

// API-14, API-15.
func TestTheCommandOfAWS(t *testing.T) {
	name, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("the aws command is not installed: it was not tried")
	}
	url, home := newAPI(t, withKeys).listen(t), t.TempDir()
	run := func(secret string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, append([]string{"gamelift", "--endpoint-url", url, "--region", defaultRegion, "--output", "json"}, args...)...)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+testKey, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN=", "AWS_PAGER=",
			"AWS_CONFIG_FILE="+home+"/none", "AWS_SHARED_CREDENTIALS_FILE="+home+"/none", "AWS_MAX_ATTEMPTS=1")
		cmd.WaitDelay = 5 * time.Second
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	out, err := run(testSecret, "create-game-session", "--fleet-id", fleetOne, "--maximum-player-session-count", "2", "--name", "from the command line \u2603")
	var created struct {
		GameSession struct{ GameSessionId, Name string }
	}
	if err != nil || json.Unmarshal([]byte(out), &created) != nil || created.GameSession.Name != "from the command line \u2603" {
		t.Fatalf("got %v: %s", err, out)
	}
	if testing.Short() {
		return
	}
	out, err = run(testSecret, "describe-game-sessions", "--game-session-id", created.GameSession.GameSessionId)
	if err != nil || !strings.Contains(out, created.GameSession.GameSessionId) {
		t.Errorf("got %v: %s", err, out)
	}
	if out, err = run("another secret, as long", "list-fleets"); err == nil || !strings.Contains(out, invalidSignature) {
		t.Errorf("wrong secret: got %v: %s", err, out)
	}
	if out, err = run(testSecret, "list-fleets", "--no-sign-request"); err == nil || !strings.Contains(out, missingToken) {
		t.Errorf("not signed: got %v: %s", err, out)
	}
}

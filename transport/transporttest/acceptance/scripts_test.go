package acceptance_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/stock"
)

// says returns a script that answers each message with a text.
func says(text string) string {
	return fmt.Sprintf(`
		let session;
		exports.ssExports = {
			init: (s) => { session = s; },
			onProcessStarted: (args) => { session.getLogger().info("args", args.join("+")); return true; },
			onMessage: (m) => session.sendReliableMessage(session.newTextGameMessage(12, session.getServerId(), %q), m.sender),
		};`, text)
}

func archive(files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// scriptFleet creates a script and a fleet with it, and waits until the fleet is ACTIVE.
func (h *testHost) scriptFleet(zip []byte) (scriptID, fleetID string) {
	h.Helper()
	s, err := h.api.CreateScript(h.context(), &gamelift.CreateScriptInput{Name: aws.String("game"), Version: aws.String("1.0"), ZipFile: zip})
	if err != nil {
		h.Fatal(err)
	}
	f, err := h.api.CreateFleet(h.context(), &gamelift.CreateFleetInput{
		Name: aws.String("f"), ScriptId: s.Script.ScriptId,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{
			{LaunchPath: aws.String("/local/game/lib/main.js"), ConcurrentExecutions: aws.Int32(10), Parameters: aws.String("one two")}}},
	})
	if err != nil {
		h.Fatal(err)
	}
	h.untilActive(*f.FleetAttributes.FleetId)
	return *s.Script.ScriptId, *f.FleetAttributes.FleetId
}

func (h *testHost) untilActive(fleetID string) {
	h.Helper()
	h.until("the fleet is ACTIVE", func() error {
		out, err := h.api.DescribeFleetAttributes(h.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleetID}})
		if err != nil {
			return err
		}
		if s := out.FleetAttributes[0].Status; s != types.FleetStatusActive {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
}

// on creates a game session on a fleet, and lets a player join.
func (h *testHost) on(fleetID string) (game string, player *stock.Client) {
	h.Helper()
	out, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{FleetId: &fleetID, MaximumPlayerSessionCount: aws.Int32(4)})
	if err != nil {
		h.Fatal(err)
	}
	game = *out.GameSession.GameSessionId
	h.until("game session is ACTIVE", func() error {
		switch s := h.game(game).Status; s {
		case types.GameSessionStatusActive:
			return nil
		case types.GameSessionStatusTerminated:
			h.Fatalf("the game session is %s before anybody has joined", s)
			return nil
		default:
			return fmt.Errorf("it is %s", s)
		}
	})
	return game, h.join(h.seats(game, 1)[0], stock.Options{})
}

// hears has a player send something, and compares the answer.
func (h *testHost) hears(c *stock.Client, want string) {
	h.Helper()
	h.send(c, stock.Message{OpCode: 11, TargetPlayer: -1, Reliable: true})
	if e := h.expect(c, stock.Op(12)); string(e.Payload) != want {
		h.Errorf("heard %q, want %q", e.Payload, want)
	}
}

func (h *testHost) version(game string) string {
	h.Helper()
	found, err := messages.Do(h.context(), h.host.System(), messages.GameSessionQuery{ID: messages.GameSessionID(game)})
	if err != nil {
		h.Fatal(err)
	}
	return found.ScriptVersion
}

func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: the engine node was not tried")
	}
}

// A configured fleet runs a script file. Saving a broken version changes nothing.
func TestAScriptOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "Game.js")
		save := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		save(says("one"))
		h := startHost(t, func(c *host.Config) {
			c.Fleets[0].Script, c.Fleets[0].Engine, c.Fleets[0].LaunchParameters = path, "embedded", "a b"
		}, nil)
		_, a := h.on("fleet-dev")
		h.hears(a, "one")
		save("function (")
		if _, err := h.host.ReloadScript(h.context(), "fleet-dev"); err == nil || !strings.Contains(err.Error(), "Game.js:1:") {
			t.Errorf("a broken save: %v", err)
		}
		_, b := h.on("fleet-dev")
		h.hears(b, "one")
		save(says("two"))
		if _, err := h.host.ReloadScript(h.context(), "fleet-dev"); err != nil {
			t.Error(err)
		}
		_, c := h.on("fleet-dev")
		h.hears(c, "two")
		h.hears(a, "one")
		if _, err := h.host.ReloadScript(h.context(), "fleet-none"); err == nil {
			t.Error("a fleet that is not there is reloaded")
		}
		scripts, err := h.api.ListScripts(h.context(), &gamelift.ListScriptsInput{})
		if err != nil || len(scripts.Scripts) != 1 || *scripts.Scripts[0].ScriptId != "script-dev" || *scripts.Scripts[0].Name != "Game.js" {
			t.Errorf("%+v, %v", scripts, err)
		}
	})
}

// A version that never reports whether it is ready is refused, and the reload returns an error.
func TestAReloadWaitsForTheAnswerOfTheNewVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := scriptFile(t, says("one"))
		h := startHost(t, func(c *host.Config) { c.Fleets[0].Script = path }, nil)
		if err := os.WriteFile(path, []byte("exports.ssExports = { init() {}, onProcessStarted: () => new Promise(() => {}) };"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.host.ReloadScript(t.Context(), "fleet-dev"); err == nil || !strings.Contains(err.Error(), "onProcessStarted") || errors.Is(err, host.ErrStillLoading) {
			t.Error(err)
		}
	})
}

func TestABrokenScriptOfTheConfigurationCostsItsFleetOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "index.js"), []byte("const"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := startHost(t, func(c *host.Config) {
			c.Fleets = append(c.Fleets, host.Fleet{ID: "fleet-broken", GameSessionsMax: 5, Script: dir})
		}, nil)
		h.players(1, stock.Options{})
		out, err := h.api.DescribeFleetAttributes(h.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{"fleet-broken"}})
		if err != nil || out.FleetAttributes[0].Status != types.FleetStatusError {
			t.Errorf("%+v, %v", out, err)
		}
		// A file that does not exist is a mistake in the configuration.
		c := hosttest.Config(t)
		c.Fleets[0].Script = filepath.Join(dir, "nowhere.js")
		if _, err := host.Start(host.Options{Config: c, Network: newNetwork(t)}); err == nil || !strings.Contains(err.Error(), "fleets[0].script: ") {
			t.Error(err)
		}
	})
}

package scripts

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/transporttest/stock"
)

// archive returns the zip of a script that requests an engine.
func archive(t *testing.T, e engine, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range map[string]string{"server.js": text, "package.json": `{"troupe": {"engine": "` + e.name + `"}}`} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// version returns a script that answers each message with name.
func version(name string) string {
	return fmt.Sprintf(`
		let session;
		exports.ssExports = {
			init: (s) => { session = s; },
			onMessage: (m) => session.sendReliableMessage(session.newTextGameMessage(2, -1, %q), m.sender),
		};`, name)
}

// RT-77.
func TestNewGameSessionsRunTheNewVersion(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, engine{}, "", setup{})
		s, err := w.api.CreateScript(w.context(), &gamelift.CreateScriptInput{Name: aws.String("game"), ZipFile: archive(t, e, version("one"))})
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.api.CreateFleet(w.context(), &gamelift.CreateFleetInput{
			Name: aws.String("f"), ScriptId: s.Script.ScriptId, RuntimeConfiguration: &types.RuntimeConfiguration{
				ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/server.js"), ConcurrentExecutions: aws.Int32(20)}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		fleet := *f.FleetAttributes.FleetId
		w.until("the fleet is ACTIVE", func() error {
			out, err := w.api.DescribeFleetAttributes(w.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})
			if err == nil && out.FleetAttributes[0].Status != types.FleetStatusActive {
				err = fmt.Errorf("it is %s", out.FleetAttributes[0].Status)
			}
			return err
		})
		player := func() *stock.Client {
			t.Helper()
			out, err := w.api.CreateGameSession(w.context(), &gamelift.CreateGameSessionInput{FleetId: aws.String(fleet), MaximumPlayerSessionCount: aws.Int32(2)})
			if err != nil {
				t.Fatal(err)
			}
			w.log.of(*out.GameSession.GameSessionId)
			w.awaitStatus(*out.GameSession.GameSessionId, types.GameSessionStatusActive)
			return w.join(*out.GameSession.GameSessionId, "ann")
		}
		answers := func(c *stock.Client, want string) {
			t.Helper()
			w.say(c, 1, "")
			w.heard(c, 2, want)
		}
		update := func(text string) {
			t.Helper()
			_, err := w.api.UpdateScript(w.context(), &gamelift.UpdateScriptInput{ScriptId: s.Script.ScriptId, ZipFile: archive(t, e, text)})
			if err != nil {
				t.Fatal(err)
			}
		}

		first := player()
		answers(first, "one")
		update(version("two"))
		second := player()
		answers(second, "two")
		answers(first, "one")

		// If a version does not run, the last good one stays in use, and an event says why.
		for _, broken := range []string{"this is { not JavaScript", "throw new Error('at load');", "exports.ssExports = { init: () => {}, onProcessStarted: () => false };"} {
			update(broken)
			answers(player(), "two")
		}
		events, err := w.api.DescribeFleetEvents(w.context(), &gamelift.DescribeFleetEventsInput{FleetId: aws.String(fleet)})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, e := range events.Events {
			said += *e.Message + "\n"
		}
		for _, want := range []string{"server.js:1", "at load", "onProcessStarted"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not among the events:\n%s", want, said)
			}
		}
		update(version("three"))
		answers(player(), "three")
		answers(second, "two")
		answers(first, "one")
	})
}

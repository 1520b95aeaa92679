package acceptance_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// spy is an uploaded script that requests Node.js. It answers with the environment of its parent process, or
// with the reason why it cannot read it.
const spy = `
	let session;
	const look = () => {
		try { return 'got ' + require('fs').readFileSync('/proc/' + process.ppid + '/environ', 'latin1').length; } catch (e) { return 'failed: ' + e.message; }
	};
	exports.ssExports = {
		init: (s) => { session = s; },
		onMessage: (m) => session.sendReliableMessage(session.newTextGameMessage(12, session.getServerId(), look()), m.sender),
	};`

// A caller who may only upload scripts must not get access to the system by requesting Node.js.
func TestAnUploadedScriptDoesNotChooseNode(t *testing.T) {
	needNode(t)
	files := map[string]string{"lib/main.js": spy, "package.json": `{"troupe": {"engine": "node"}}`}
	answer := func(h *testHost, fleet string) string {
		_, c := h.on(fleet)
		h.send(c, stock.Message{OpCode: 11, TargetPlayer: stock.ServerID, Reliable: true})
		return string(h.expect(c, stock.Op(12)).Payload)
	}
	for name, allowed := range map[string]bool{"as it is": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			h := startHostWith(t, func(c *host.Config) {
				c.Script.Node.AllowUploaded = allowed
				c.Fleets[0].Script, c.Fleets[0].Engine = scriptFile(t, spy), "node"
			}, onSystem)
			if got := answer(h, "fleet-dev"); !strings.HasPrefix(got, "got ") {
				t.Errorf("the operator's own script does not run in node: %s", got)
			}
			_, fleet := h.scriptFleet(archive(files))
			if got := answer(h, fleet); strings.HasPrefix(got, "got ") != allowed {
				t.Errorf("an uploaded script: %s", got)
			}
			if allowed {
				return
			}
			h.event(fleet, "GENERIC_EVENT", "runs in the embedded engine", "script.node.allowUploaded", "script.node.uid")
			// The configured fleet requests Node.js for any script.
			if _, err := h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: aws.String("script-dev"), ZipFile: archive(map[string]string{"game.js": spy})}); err != nil {
				t.Fatal(err)
			}
			if got := answer(h, "fleet-dev"); strings.HasPrefix(got, "got ") {
				t.Errorf("a script uploaded in place of the operator's: %s", got)
			}
		})
	}
}

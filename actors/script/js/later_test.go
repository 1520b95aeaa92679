package js

import (
	"strings"
	"testing"

	"troupe/actors/actorstest"
)

// Methods that are created on first use are visible to every way of accessing them.
func TestMethodsAreThereBeforeTheyAreMade(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"'sendMessage' in s", "true"},
		{"'nothing' in s", "false"},
		{"typeof s.getPlayers + typeof s.no + typeof s.toString", "functionundefinedfunction"},
		{"String(s.getServerId())", "-1"},
		{"JSON.stringify(s.gameProperties)", "{}"},
		{"(s.kickPlayer = 5, String(s.kickPlayer))", "5"},
		{"Object.keys(s).length + s.constructor.name", "0Session"},
		{"typeof s.getLogger().warn + typeof s.getLogger().no + ('cxfatal' in s.getLogger())", "functionundefinedtrue"},
		{"(delete globalThis.Object, String(s.getServerId()) + typeof s.getLogger().warn)", "-1function"},
	} {
		g, _ := load(t, actorstest.ScriptLimits(), only("exports.ssExports = { init(s) { throw new Error('got ' + ("+c.source+") + '.'); } };"))
		text := g.lines.String()
		if !strings.Contains(text, "got "+c.want+".") {
			t.Errorf("%s: %s", c.source, text)
		}
	}
}

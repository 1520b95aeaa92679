package realtime

import (
	"strings"
	"testing"
)

// The part of a text beyond textMax, which the log does not show, is left unchanged.
func TestOwnFramesOfALongText(t *testing.T) {
	const own, hosts = "\n    at f (/local/game/a.js:1:2)", "\n    at f (troupe:shim:1:1)"
	rest := strings.Repeat("\n", 20*textMax) + hosts
	if got := OwnFrames("Error: x" + own + hosts + rest); got != "Error: x"+own+rest {
		t.Errorf("%d bytes of %d, %.100q", len(got), len(rest), got)
	}
	if long := strings.Repeat("x", 2*textMax) + hosts; OwnFrames(long) != long {
		t.Error("a long line is changed")
	}
}

func TestOwnFrames(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no stack": {"a\n  b at c", "a\n  b at c"},
		"words":    {"we meet\n  at home\n", "we meet\n  at home\n"},
		"of Node.js": {
			"Error: x\n    at f (/local/game/a.js:1:2)\n    at call (troupe:shim:174:26)\n    at process.processImmediate (node:internal/timers:485:21)",
			"Error: x\n    at f (/local/game/a.js:1:2)"},
		"embedded": {
			"Error: x\n    at require (native)\n    at f (/local/game/a.js:1:2)\n    at apply (native)\n    at fire (troupe:timers:84:26)\n    at troupe/actors/script/js.(*Handler).first.func1.1 (native)",
			"Error: x\n    at require (native)\n    at f (/local/game/a.js:1:2)"},
		"the host between": {
			"Error: x\n    at Module._load (node:internal/a:1:1)\n    at Module._resolveFilename (troupe:shim:1:1)\n    at /local/game/a.js:1:2\n    at b (troupe:shim:1:1)\n    at c (/local/game/a.js:3:4)",
			"Error: x\n    at Module._load (node:internal/a:1:1)\n    at /local/game/a.js:1:2\n    at c (/local/game/a.js:3:4)"},
		"with members": {
			"{\n  a: Error: x\n      at f (/local/game/a.js:1:2)\n      at g (troupe:shim:174:26) {\n    code: 1\n  },\n  b: Error: y\n      at g (troupe:shim:174:26),\n  c: 1\n}",
			"{\n  a: Error: x\n      at f (/local/game/a.js:1:2) {\n    code: 1\n  },\n  b: Error: y,\n  c: 1\n}"},
		"raw, embedded": {"Error: x\n\tat f (/local/game/a.js:1:2(3))\n\tat call (troupe:realtime:1:1(2))\n", "Error: x\n\tat f (/local/game/a.js:1:2(3))\n"},
		"with a cause": {
			"Error: x\n    at f (/local/game/a.js:1:2)\n    ... 2 lines matching cause stack trace ...\n    at process.processImmediate (node:internal/timers:1:1) {\n  [cause]: Error: y\n      at f (/local/game/a.js:1:3)\n}",
			"Error: x\n    at f (/local/game/a.js:1:2) {\n  [cause]: Error: y\n      at f (/local/game/a.js:1:3)\n}"},
		"not the script's at all": {"Error: x\n    at f (node:fs:1:1)\n    at g (native)", "Error: x\n    at f (node:fs:1:1)\n    at g (native)"},
		"the host's only":         {"Trace\n    at f (troupe:realtime:1:1)\nend", "Trace\nend"},
	} {
		if got := OwnFrames(c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

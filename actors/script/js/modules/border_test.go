package modules

import (
	"slices"
	"strings"
	"testing"

	"troupe/actors/script"
)

// A function that a module lacks throws an error with advice. It is not visible as a property of the module.
func TestAbsentMembersSaySo(t *testing.T) {
	h := enable(t, "main.js", `
		const util = require('util'), crypto = require('crypto');
		for (const f of [() => crypto.createCipheriv('aes', 'k', 'i'), () => new crypto.Sign(), () => util.parseArgs(), () => util.types.isExternal(1), () => require('url').parse('x'), () => process.chdir('/'),
			() => require('timers/promises').setInterval(1), () => require('assert').CallTracker()]) {
			try { f(); console.log('fine'); } catch (e) { console.log(e.code + ' ' + e.message); }
		}
		console.log('createSign' in crypto, Object.keys(crypto).includes('createSign'), crypto.nothing, typeof crypto.createSign, require('util').nothing, Object.prototype.hasOwnProperty.call(util, 'parseArgs'));
		const { EventEmitter } = require('events'); class Mine extends EventEmitter {} console.log(new Mine() instanceof EventEmitter, process instanceof EventEmitter, typeof Mine.addAbortListener);`)
	h.levels = script.LevelInfo
	got := strings.Split(h.run(t, "main.js"), "\n")
	for i, what := range []string{"crypto.createCipheriv", "crypto.Sign", "util.parseArgs", "util/types.isExternal", "url.parse", "process.chdir", "timers/promises.setInterval", "assert.CallTracker"} {
		want := "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM the embedded engine does not have " + what + `; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`
		if i >= len(got) || got[i] != want {
			t.Errorf("got %q, want %s", got, want)
			break
		}
	}
	if want := []string{"false false undefined function undefined false", "true true function"}; !slices.Equal(got[len(got)-2:], want) {
		t.Errorf("got %q, want %q", got[len(got)-2:], want)
	}
}

// A member that is listed as absent does not exist.
func TestAbsentMembersAreAbsent(t *testing.T) {
	h := enable(t, "main.js", "")
	for module, names := range absentMembers {
		if module == "path_win32" { // not a module but a member of path
			continue
		}
		o := h.Builtin(module).ToObject(h.runtime)
		for name := range names {
			if slices.Contains(o.GetOwnPropertyNames(), name) || slices.Contains(o.Keys(), name) {
				t.Errorf("%s.%s is there", module, name)
			}
		}
	}
}

func TestHints(t *testing.T) {
	for message, want := range map[string]bool{
		"ReferenceError: fetch is not defined": true, "fetch is not defined": true, "TypeError: Object has no member 'groupBy' at f": true,
		"Error: EACCES: permission denied, open '/etc/passwd'": true, "RangeError: Invalid string length": true, "RangeError: a list of 2000000 is too long for fill": true,
		"Error: ENOENT: no such file or directory, open 'x'": false, "Error: a list of 5": false,
		"Error in onMessage: ReferenceError: Intl is not defined": false, "ReferenceError: foo is not defined": false, "TypeError: Object has no member 'nope'": false, "": false,
	} {
		if got := Hint(message); (got != "") != want || want && !strings.Contains(got, `"engine": "node"`) {
			t.Errorf("%q: %q", message, got)
		}
	}
}

package scripts

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/transporttest/stock"
)

// The typed example uses every name that troupe.d.ts declares, and it is compiled and run. So a declaration
// of something that does not exist is detected.
func TestTypesAreUsed(t *testing.T) {
	declared, err := os.ReadFile("../../../docs/scripts/troupe.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.ReadFile(examples + "typed/typed.ts")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)/\*\*.*?\*/|//[^\n]*`).ReplaceAll(declared, nil)
	names := regexp.MustCompile(`(?m)^    (?:readonly )?(\w+)\??[:(]|^  (?:interface|type) (\w+)`).FindAllSubmatch(text, -1)
	if len(names) < 70 {
		t.Fatalf("%d names only", len(names))
	}
	for _, n := range names {
		name := string(n[1]) + string(n[2])
		if !regexp.MustCompile(`\b` + name + `\b`).Match(used) {
			t.Errorf("%s is declared and not used", name)
		}
	}
}

// shape maps the members of an object to their types: the result of typeof, or "null".
type shape map[string]string

// declaredShapes parses the interfaces of troupe.d.ts. If a member may have several types, they are separated
// by spaces.
func declaredShapes(t *testing.T) map[string]shape {
	t.Helper()
	text, err := os.ReadFile("../../../docs/scripts/troupe.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]shape{}
	for _, i := range regexp.MustCompile(`(?ms)^  interface (\w+) \{\n(.*?)^  \}`).FindAllSubmatch(text, -1) {
		s := shape{}
		for _, m := range regexp.MustCompile(`(?m)^    (?:readonly )?(\w+)\??(\(|: )(.*);$`).FindAllStringSubmatch(string(i[2]), -1) {
			switch kinds := regexp.MustCompile(`\b(?:string|number|boolean|null)\b`).FindAllString(m[3], -1); {
			case m[2] == "(":
				s[m[1]] = "function"
			case strings.Trim(m[3], "abcdefghijklmnopqrstuvwxyz |") == "":
				s[m[1]] = strings.Join(kinds, " ")
			default:
				s[m[1]] = strings.TrimSpace("object " + strings.Join(slices.DeleteFunc(kinds, func(k string) bool { return k != "null" }), " "))
			}
		}
		shapes[string(i[1])] = s
	}
	return shapes
}

// The objects that a script gets have exactly the members that troupe.d.ts declares.
func TestTypesAreThoseOfTheObjects(t *testing.T) {
	declared := declaredShapes(t)
	names, err := json.Marshal(declared)
	if err != nil {
		t.Fatal(err)
	}
	everyEngineAlways(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
const seen = {}, declared = `+string(names)+`;
let session;
function note(name, object) {
  seen[name] = {};
  for (const key of Object.keys(declared[name])) void object[key]; // the embedded engine makes some when they are asked for
  for (let p = object; p !== null && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const key of Object.getOwnPropertyNames(p)) {
      if (key !== 'constructor') seen[name][key] = object[key] === null ? 'null' : typeof object[key];
    }
  }
}
exports.ssExports = {
  init(s) { session = s; note('Logger', s.getLogger()); },
  onStartGameSession(game) { note('GameSession', game); note('GameProperty', game.GameProperties[0]); },
  onPlayerConnect(message) { note('ConnectMessage', message); return true; },
  onPlayerAccepted(player) { note('Player', player); },
  onPlayerReconnected(id, info) { note('Reconnected', info); },
  onMessage(message) {
    note('GameMessage', message);
    note('Session', session);
    session.processEnding().then((outcome) => {
      note('Outcome', outcome);
      session.getLogger().info('seen ' + JSON.stringify(seen));
      process.exit(0);
    });
  },
};`), setup{})
		game := w.newGame(4, types.GameProperty{Key: aws.String("mode"), Value: aws.String("duel")})
		seat := w.seat(game, "ann")
		w.login(seat, stock.Options{NoUDP: true}).Kill()
		w.say(w.login(seat, stock.Options{NoUDP: true}), 1, "")
		_, text, _ := strings.Cut(w.log.await(t, "seen ").Text, "seen ")
		seen := map[string]shape{}
		if err := json.Unmarshal([]byte(text), &seen); err != nil || len(seen) != 9 {
			t.Fatalf("%d objects: %v: %s", len(seen), err, text)
		}
		for name, got := range seen {
			for member, kind := range got {
				if want := declared[name][member]; !slices.Contains(strings.Fields(want), kind) {
					t.Errorf("%s.%s is %q, declared %q", name, member, kind, want)
				}
			}
			for member := range declared[name] {
				if got[member] == "" {
					t.Errorf("%s.%s is declared and not there", name, member)
				}
			}
		}
	})
}

package host

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/messages"
)

// good returns valid parameter values, with which each operation succeeds on consoleHost.
func good(t *testing.T, h *testHost, path string) map[string]string {
	t.Helper()
	found, err := messages.Do(t.Context(), h.System(), messages.FindGameSessions{FleetID: "fleet-dev"})
	games := found.GameSessions
	if err != nil || len(games) == 0 {
		t.Fatal(games, err)
	}
	game := string(games[0].ID)
	id := map[string]string{"/placement": "waits", "/placement/cancel": "waits", "/fleet/events": "fleet-dev"}[path]
	if id == "" {
		id = game
	}
	return map[string]string{
		"id": id, "gameSession": game, "player": "ann", "fleet": "fleet-dev", "alias": "alias-dev", "playerSession": "psess-12345678", "location": h.reloads.config.Region, "ticket": "ticket-1", "queue": "queue-dev",
		"configuration": "match-dev", "level": "warn", "seconds": "1", "node": "node-a",
	}
}

// malformed has one invalid value for each parameter whose text has a grammar.
var malformed = map[string]string{"filter": "what", "sort": "what", "next": "!", "grace": "soon"}

// Parameters that accept unknown names. freeTexts are arbitrary texts. anyPlayers are operations that accept
// player ids the host does not know.
var (
	freeTexts  = map[string]bool{"name": true, "data": true, "reason": true}
	anyPlayers = map[string]bool{"GET /players": true, "POST /players": true, "POST /bans": true, "GET /connections/closed": true}
)

// badValues returns values that the parameter's schema does not allow.
func (p *parameter) badValues() (bad []string) {
	s := p.Schema
	bad = append(bad, strings.Repeat("x", 2049), "\xff")
	switch {
	case s.Type == "integer":
		bad = append(bad, "", "x", "1.5", "99999999999999999999", strconv.Itoa(s.Minimum-1), strconv.Itoa(s.Maximum+1))
	case s.Type == "boolean", len(s.Enum) > 0:
		bad = append(bad, "", "none")
	case s.MaxLength > 0:
		bad = append(bad, strings.Repeat("x", s.MaxLength+1))
	}
	if text := malformed[p.Name]; text != "" && len(s.Enum) == 0 {
		bad = append(bad, text)
	}
	if p.Required {
		bad = append(bad, "")
	}
	return bad
}

// allowed returns all values of an enum, or both bounds of an integer.
func (p *parameter) allowed() []string {
	if p.Schema.Type == "integer" {
		return []string{strconv.Itoa(p.Schema.Minimum), strconv.Itoa(p.Schema.Maximum)}
	}
	return p.Schema.Enum
}

// TestEveryOperationRefusesBadInput: a call of /admin/v1 with an invalid parameter is refused, with a code
// and a sentence that names the mistake, and has no effect. Values that the OpenAPI file allows are accepted.
func TestEveryOperationRefusesBadInput(t *testing.T) { synctest.Test(t, everyOperationRefusesBadInput) }

func everyOperationRefusesBadInput(t *testing.T) {
	h := consoleHost(t, Options{Network: memory(t)})
	doc, call := documented(t, h)
	refused := func(method, path string, q url.Values, sent string, names ...string) {
		t.Helper()
		a := call(method, path, q, sent)
		var said struct{ Code, Message string }
		if err := json.Unmarshal(a.body, &said); err != nil || said.Code == "" || !strings.Contains(said.Message, " ") || a.status < 400 || a.status > 499 {
			t.Errorf("%s %s?%.200s %q: %d %.200s", method, path, q.Encode(), sent, a.status, a.body)
			return
		}
		for _, name := range names {
			if !strings.Contains(said.Message, name) {
				t.Errorf("%s %s?%.200s: %q does not tell of %s", method, path, q.Encode(), said.Message, name)
			}
		}
	}
	tried := 0
	for path, methods := range doc.Paths {
		refused(http.MethodPut, path, nil, "", "use ")
		values := good(t, h, path)
		for verb, op := range methods {
			method := strings.ToUpper(verb)
			needed := url.Values{}
			for _, p := range op.Parameters {
				if p.Required {
					needed.Set(p.Name, values[p.Name])
				}
			}
			with := func(name string, to ...string) url.Values {
				q := maps.Clone(needed)
				delete(q, name)
				if len(to) > 0 {
					q[name] = to
				}
				return q
			}
			tried++
			refused(method, path, with("unknown", "1"), "", "unknown")
			if op.RequestBody == nil {
				refused(method, path, needed, "{}", "body")
			}
			for _, p := range op.Parameters {
				if p.Schema == nil {
					t.Fatalf("%s %s: %s has no schema", method, path, p.Name)
				}
				refused(method, path, with(p.Name, "x", "x"), "", p.Name)
				if p.Required {
					refused(method, path, with(p.Name), "", p.Name)
				}
				if method == http.MethodGet {
					for _, best := range p.allowed() {
						if a := call(method, path, with(p.Name, best), ""); a.status != http.StatusOK {
							t.Errorf("%s?%s=%s: %d %s", path, p.Name, best, a.status, a.body)
						}
					}
				}
				for _, bad := range p.badValues() {
					refused(method, path, with(p.Name, bad), "", p.Name)
				}
				switch {
				case p.Schema.Type != "string" || len(p.Schema.Enum) > 0 || malformed[p.Name] != "" || freeTexts[p.Name]:
				case p.Name == "player" && anyPlayers[method+" "+path]:
				case values[p.Name] == "":
					t.Errorf("%s %s: is there an unknown %s, or a malformed one? Say it in this test", method, path, p.Name)
				default:
					refused(method, path, with(p.Name, "none"), "")
				}
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d operations", tried)
	}
	for path, has := range map[string]string{
		"/game-sessions": `"matched":1`, "/placements": `"status":"PENDING"`, "/matchmaking/tickets": `"matched":1`, "/bans": `[{"playerId":"a-cheater"`,
		"/drain": `"draining":false`, "/log-level": `"level":"info"`,
	} {
		if body := string(call(http.MethodGet, path, nil, "").body); !strings.Contains(body, has) {
			t.Errorf("a call that is refused has done something: %s is %s", path, body)
		}
	}
}

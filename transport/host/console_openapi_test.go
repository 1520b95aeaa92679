package host

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"troupe/messages"
	"troupe/transport/client"
)

// schema has the fields of an OpenAPI schema that the console's document uses.
type schema struct {
	Ref                  string             `yaml:"$ref"`
	Type                 any                `yaml:"type"`
	Required             []string           `yaml:"required"`
	Properties           map[string]*schema `yaml:"properties"`
	AdditionalProperties *schema            `yaml:"additionalProperties"`
	Items                *schema            `yaml:"items"`
	Enum                 []string           `yaml:"enum"`
	Minimum              int                `yaml:"minimum"`
	Maximum              int                `yaml:"maximum"`
	MaxLength            int                `yaml:"maxLength"`
}

type parameter struct {
	Name     string  `yaml:"name"`
	Required bool    `yaml:"required"`
	Schema   *schema `yaml:"schema"`
}

type operation struct {
	Parameters  []parameter `yaml:"parameters"`
	RequestBody any         `yaml:"requestBody"`
	Responses   map[string]struct {
		Content map[string]struct {
			Schema *schema `yaml:"schema"`
		} `yaml:"content"`
	} `yaml:"responses"`
}

type openAPI struct {
	Paths      map[string]map[string]operation `yaml:"paths"`
	Components struct {
		Schemas map[string]*schema `yaml:"schemas"`
	} `yaml:"components"`

	filled map[*schema]bool // objects, and lists with at least one item, that check has compared
}

// check returns the differences between a value and its schema. Every property must be documented, and every
// documented property must be present.
func (o *openAPI) check(at string, s *schema, v any) (wrong []string) {
	if s = o.resolve(s); s == nil {
		return []string{at + " has no schema"}
	}
	kinds := map[string]bool{}
	switch t := s.Type.(type) {
	case string:
		kinds[t] = true
	case []any:
		for _, one := range t {
			kinds[fmt.Sprint(one)] = true
		}
	}
	kind := "null"
	switch v := v.(type) {
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case float64:
		if kind = "number"; v == float64(int64(v)) && kinds["integer"] {
			kind = "integer"
		}
	case []any:
		kind = "array"
		o.filled[s] = o.filled[s] || len(v) > 0
		for i, one := range v {
			wrong = append(wrong, o.check(fmt.Sprintf("%s[%d]", at, i), s.Items, one)...)
		}
	case map[string]any:
		kind = "object"
		o.filled[s] = true
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
		for name, one := range v {
			of := s.Properties[name]
			if of == nil {
				of = s.AdditionalProperties
			} else if !slices.Contains(s.Required, name) {
				wrong = append(wrong, at+"."+name+" is not required, and always there")
			}
			wrong = append(wrong, o.check(at+"."+name, of, one)...)
		}
	}
	if !kinds[kind] {
		wrong = append(wrong, fmt.Sprintf("%s is a %s, not %v", at, kind, s.Type))
	}
	return wrong
}

func (o *openAPI) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = o.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// unseen returns the lists and objects below a schema that check has never compared with a non-empty value.
func (o *openAPI) unseen(at string, s *schema) (names []string) {
	if s = o.resolve(s); s == nil {
		return nil
	}
	if (s.Items != nil || s.Properties != nil) && !o.filled[s] {
		return []string{at}
	}
	for name, one := range s.Properties {
		names = append(names, o.unseen(at+"."+name, one)...)
	}
	for _, one := range []*schema{s.Items, s.AdditionalProperties} {
		names = append(names, o.unseen(at+"[]", one)...)
	}
	return names
}

// answered is a response of /admin/v1.
type answered struct {
	status int
	kind   string // media type
	body   []byte // for a stream of events, the first overview
}

// documented returns the OpenAPI document, and a function that calls operations with the console's token.
func documented(t *testing.T, h *testHost) (doc *openAPI, call func(method, path string, q url.Values, body string) answered) {
	t.Helper()
	doc = &openAPI{filled: make(map[*schema]bool)}
	_, text := h.act("GET", "/openapi.yaml")
	if err := yaml.Unmarshal([]byte(text), doc); err != nil {
		t.Fatal(err)
	}
	return doc, func(method, path string, q url.Values, body string) answered {
		t.Helper()
		headers := []string{"X-CSRF-Token", h.csrf}
		if body != "" {
			headers = append(headers, "Content-Type", "application/json")
		}
		a := h.ask(method, "/admin/v1"+path+"?"+q.Encode(), body, headers...)
		defer a.Body.Close()
		kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
		if kind == "text/event-stream" {
			event := ""
			for lines := bufio.NewScanner(a.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && event == "event: overview" {
					return answered{a.StatusCode, kind, []byte(data)}
				}
				event = lines.Text()
			}
			t.Fatal("there is no overview among the events")
		}
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answered{a.StatusCode, kind, text}
	}
}

// furnish creates an entry for every list of the console. It returns a fleet with room for game sessions.
func furnish(t *testing.T, h *testHost) messages.FleetID {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	file, err := w.Create("main.js")
	if err == nil {
		_, err = io.WriteString(file, `let s; exports.ssExports = { init: (session) => { s = session; }, onProcessStarted: () => { s.getLogger().info("begun"); return true; } };`)
	}
	if err = cmp.Or(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := messages.Do(t.Context(), h.System(), messages.CreateScript{Name: "game", Version: "1.0", Zip: packed.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	region := h.reloads.config.Region
	f, err := messages.Do(t.Context(), h.System(), messages.CreateFleet{
		Name: "scripted", ScriptID: s.ID, Locations: []string{region},
		Runtime: messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: "/local/game/main.js", Concurrent: 4}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the fleet with a script", func() bool {
		all, err := messages.Do(t.Context(), h.System(), messages.FleetQuery{})
		return err == nil && slices.ContainsFunc(all, func(one *messages.Fleet) bool { return one.ID == f.ID && one.Status == messages.FleetActive })
	})
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateAlias{Name: "live", FleetID: f.ID}); err != nil {
		t.Fatal(err)
	}
	q := messages.Queue{
		Name: "queue-full", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:" + region + "::fleet/" + string(f.ID)}, Policies: []messages.LatencyPolicy{{Max: 100}},
		AllowedLocations: []string{region}, PriorityOrder: []messages.Priority{messages.PriorityLocation}, LocationOrder: []string{region}, HasPriority: true,
	}
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateQueue{Queue: q}); err != nil {
		t.Fatal(err)
	}
	fillTickets(t, h, "ann", "bob", "carla", "dmitri")
	return f.ID
}

// fillTickets adds tickets whose skills are too far apart for a match.
func fillTickets(t *testing.T, h *testHost, players ...string) {
	t.Helper()
	rules := messages.RuleSet{Name: "near", Body: `{"name":"near","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
		"teams":[{"name":"all","minPlayers":3,"maxPlayers":3}],
		"rules":[{"name":"NearInSkill","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5}],
		"expansions":[{"target":"rules[NearInSkill].maxDistance","steps":[{"waitTimeSeconds":600,"value":50}]}]}`}
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateRuleSet{RuleSet: rules}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{Name: "ranked-3v3", RuleSet: "near", Standalone: true, RequestTimeout: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	for i, player := range players {
		_, err := messages.Do(t.Context(), h.System(), messages.StartMatchmaking{Matchmaker: "ranked-3v3", Players: []messages.TicketPlayer{
			{ID: messages.PlayerID(player), Attributes: map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: float64(i * 100)}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheConsoleAnswersAsDocumented: the response of each operation, including actions, has the schema of the
// OpenAPI file, and no list is empty. Another test compares paths and parameters.
func TestTheConsoleAnswersAsDocumented(t *testing.T) { synctest.Test(t, theConsoleAnswersAsDocumented) }

func theConsoleAnswersAsDocumented(t *testing.T) {
	h := consoleHost(t, Options{Network: memory(t)})
	fleet := string(furnish(t, h))
	doc, call := documented(t, h)
	compared := make(map[string]bool)
	compare := func(op string, a answered) {
		t.Helper()
		method, path, _ := strings.Cut(op, " ")
		content := doc.Paths[path][strings.ToLower(method)].Responses["200"].Content
		of, known := content[a.kind]
		if a.status != http.StatusOK || !known || compared[op] {
			t.Fatalf("%s: %d %s %s", op, a.status, a.kind, a.body)
		}
		compared[op] = true
		var v any = string(a.body)
		if a.kind == "text/event-stream" {
			of.Schema = &schema{Ref: "#/components/schemas/Overview"}
		}
		if of.Schema.Type != "string" {
			v = nil
			if err := json.Unmarshal(a.body, &v); err != nil {
				t.Fatalf("%s: %v: %s", op, err, a.body)
			}
		} else if v == "" {
			t.Errorf("%s answers nothing", op)
		}
		for _, wrong := range doc.check(op, of.Schema, v) {
			t.Error(wrong)
		}
	}
	do := func(op string, pairs ...string) answered {
		t.Helper()
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		method, path, _ := strings.Cut(op, " ")
		a := call(method, path, q, "")
		compare(op, a)
		return a
	}
	shows := func(path, text string, pairs ...string) {
		t.Helper()
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		until(t, text, func() bool { return strings.Contains(string(call("GET", path, q, "").body), text) })
	}

	var game struct{ ID string }
	if err := json.Unmarshal(do("POST /game-sessions", "fleet", fleet, "name", "lobby").body, &game); err != nil {
		t.Fatal(err)
	}
	var seat struct{ PlayerSessionID string }
	if err := json.Unmarshal(do("POST /players", "gameSession", game.ID, "player", "bob").body, &seat); err != nil {
		t.Fatal(err)
	}
	log := func(id string) *client.Client {
		t.Helper()
		c, err := h.dial(id, false)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := log(seat.PlayerSessionID).JoinGroup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	other, err := messages.Do(t.Context(), h.System(), messages.CreatePlayerSessions{
		GameSessionID: messages.GameSessionID(game.ID), Players: []messages.NewPlayer{{PlayerID: "carla"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	log(string(other[0].ID)).Close()
	tickets, err := messages.Do(t.Context(), h.System(), messages.TicketList{Matchmaker: "ranked-3v3", Limit: 1})
	if err != nil || len(tickets.Tickets) != 1 {
		t.Fatal(tickets, err)
	}
	ticket := string(tickets.Tickets[0].ID)
	shows("/game-session", `"groups":[{`, "id", game.ID)
	shows("/game-session/log", "begun", "id", game.ID)
	shows("/connections/closed", `"playerId":"carla"`)
	shows("/matchmaking/why", `"blocked":[{`, "ticket", ticket)
	shows("/overview", `"rates":{`)

	values := map[string]string{"id": game.ID, "ticket": ticket, "player": "bob"}
	for path, methods := range doc.Paths {
		get, ok := methods["get"]
		if !ok || path == "/node" || path == "/nodes" { // clusterAnswers compares them
			continue
		}
		values["id"] = cmp.Or(map[string]string{"/placement": "waits", "/fleet/events": fleet}[path], game.ID)
		var pairs []string
		for _, p := range get.Parameters {
			if p.Required {
				pairs = append(pairs, p.Name, values[p.Name])
			}
		}
		do("GET "+path, pairs...)
	}
	do("POST /players/kick", "player", "bob", "reason", "rude")
	do("POST /bans", "player", "mallory", "seconds", "60")
	do("DELETE /bans", "player", "mallory")
	do("POST /log-level", "level", "warn")
	do("POST /profile", "kind", "heap")
	do("POST /placement/cancel", "id", "waits")
	do("POST /game-session/terminate", "id", game.ID)
	do("POST /drain")
	do("DELETE /drain")
	do("POST /logout")
	c := config(t)
	withKeys(&c)
	c.API.TrustLoopback = true
	_, callKeyed := documented(t, begin(t, Options{Config: c}))
	compare("POST /login", callKeyed("POST", "/login", nil, `{"accessKeyId":"`+guardKey+`","secret":"`+guardSecret+`"}`))

	clusterAnswers(t, doc, compare)

	for path, methods := range doc.Paths {
		for verb, op := range methods {
			if !compared[strings.ToUpper(verb)+" "+path] {
				t.Errorf("the answer of %s %s is not compared", verb, path)
			}
			for _, one := range op.Responses["200"].Content {
				for _, name := range doc.unseen(verb+" "+path, one.Schema) {
					t.Errorf("%s is empty", name)
				}
			}
		}
	}
	for _, path := range []string{"/none", "/game-session"} {
		var v any
		_ = json.Unmarshal(call("GET", path, nil, "").body, &v)
		for _, wrong := range doc.check(path, &schema{Ref: "#/components/schemas/Problem"}, v) {
			t.Error(wrong)
		}
	}
}

// clusterAnswers compares the answers that only a cluster has, some of them while one node is silent.
func clusterAnswers(t *testing.T, doc *openAPI, compare func(op string, a answered)) {
	c := hostsOf(t, 2, func(o *Options) { o.Config.Cluster.Locations = []string{o.Config.Region} })
	leader, other := c.all[0], c.all[1]
	if other.node.self.View().Leads {
		leader, other = other, leader
	}
	name := other.node.name
	_, call := documented(t, leader)
	compare("GET /nodes", call("GET", "/nodes", nil, ""))
	compare("GET /node", call("GET", "/node", url.Values{"node": {name}}, ""))
	other.node.server.Close()
	for _, path := range []string{"/connections", "/connections/closed", "/top", "/overview", "/game-sessions", "/players", "/scripts"} {
		a := call("GET", path, nil, "")
		var v any
		if err := json.Unmarshal(a.body, &v); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range doc.check(path, doc.Paths[path]["get"].Responses["200"].Content["application/json"].Schema, v) {
			t.Error(wrong)
		}
		if !strings.Contains(string(a.body), `"silentNodes":["`+name+`"]`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if status, _ := leader.act("POST", "/nodes/forget?id="+name); status != http.StatusBadRequest {
		t.Errorf("a registered node is forgotten: %d", status)
	}
	other.node.self.Close()
	time.Sleep(2 * time.Second)
	compare("POST /nodes/forget", call("POST", "/nodes/forget", url.Values{"id": {name}}, ""))
}

// Game sessions are found by fleet, by alias and by location. Player sessions are found by each form of id
// that operators use. The secret part of a player session's id is never shown.
func TestTheConsoleFindsByEachOfItsFilters(t *testing.T) {
	synctest.Test(t, theConsoleFindsByEachOfItsFilters)
}

func theConsoleFindsByEachOfItsFilters(t *testing.T) {
	h := consoleHost(t, Options{Network: memory(t)})
	found, err := messages.Do(t.Context(), h.System(), messages.FindGameSessions{FleetID: "fleet-dev"})
	games := found.GameSessions
	if err != nil || len(games) != 1 {
		t.Fatal(games, err)
	}
	seats, err := messages.Do(t.Context(), h.System(), messages.PlayerSessionQuery{GameSessionID: games[0].ID})
	if err != nil || len(seats) != 1 {
		t.Fatal(seats, err)
	}
	terminal, err := messages.Do(t.Context(), h.System(), messages.CreateAlias{Name: "closed", Message: "closed for the winter"})
	if err != nil {
		t.Fatal(err)
	}
	// otherwise the second location would have room for it
	if _, err := messages.Do(t.Context(), h.System(), messages.StopPlacement{ID: "waits"}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateLocation{Location: messages.Location{Name: "custom-attic"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(t.Context(), h.System(), messages.AddFleetLocations{FleetID: "fleet-dev", Locations: []string{"custom-attic"}}); err != nil {
		t.Fatal(err)
	}
	game, seat, region := url.QueryEscape(string(games[0].ID)), string(seats[0].ID), h.reloads.config.Region
	address := fmt.Sprintf(`"address":"%s:%d"`, games[0].IPAddress, games[0].Port)
	for _, test := range []struct {
		path   string
		status int
		has    string
	}{
		{"game-sessions?alias=alias-dev", 200, `"matched":1`}, {"game-sessions?alias=alias-dev&status=any&location=" + region, 200, address},
		{"game-sessions?fleet=fleet-dev&location=" + region, 200, address}, {"game-sessions?location=" + region, 200, `"matched":1`},
		{"game-sessions?location=" + region + "&status=TERMINATED", 200, `"matched":0`}, {"game-sessions?location=custom-attic", 200, `"matched":0`},
		{"game-sessions?fleet=fleet-dev&location=custom-attic&status=any", 200, `"matched":0`}, {"game-session?id=" + game, 200, address},
		{"game-sessions?alias=alias-none", 404, "alias-none"}, {"game-sessions?fleet=fleet-none", 404, "fleet-none"}, {"game-sessions?fleet=fleet-none&status=any", 404, "fleet-none"},
		{"game-sessions?location=moon", 404, "no fleet has the location moon"}, {"game-sessions?alias=alias-dev&location=moon", 400, "moon is not one of fleet fleet-dev"},
		{"game-sessions?fleet=fleet-dev&location=moon&status=any", 400, "moon is not one of fleet fleet-dev"},
		{"game-sessions?alias=" + string(terminal.ID), 400, "closed for the winter"}, {"game-sessions?alias=alias-dev&fleet=fleet-dev", 400, "not both"},
		{"players", 200, `"playerId":"ann"`}, {"scripts", 200, `"running":[{"fleetId":"fleet-dev","scriptVersion":"","gameSessions":1,"players":1,"newest":"20`}, {"players?fleet=fleet-dev&status=RESERVED", 200, `"playerId":"ann"`}, {"players?status=ACTIVE", 200, `"players":[]`},
		{"players?player=ann", 200, `"matched":1`}, {"players?player=ann&status=COMPLETED", 200, `"matched":0`}, {"players?gameSession=" + game, 200, `"state":"reserved"`},
		{"players?playerSession=psess-" + seats[0].ID.Short(), 200, `"playerId":"ann"`}, {"players?playerSession=" + seat, 200, `"playerId":"ann"`},
		{"players?playerSession=psess-00000000", 404, "there is no player session psess-00000000"}, {"players?fleet=fleet-none", 404, "fleet-none"},
		{"players?gameSession=none", 404, "none"}, {"players?player=ann&fleet=fleet-dev", 400, "give one of"},
	} {
		status, body := h.act("GET", "/"+test.path)
		if status != test.status || !strings.Contains(body, test.has) || strings.Contains(body, seat[len(seat)-20:]) {
			t.Errorf("%s: %d %s; want %d and %s", test.path, status, body, test.status, test.has)
		}
		if test.status == 200 {
			continue
		}
		var said struct{ Code, Message string }
		if err := json.Unmarshal([]byte(body), &said); err != nil || said.Code == "" || !strings.Contains(said.Message, " ") {
			t.Errorf("%s: no sentence: %s", test.path, body)
		}
	}
}

package host

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/transport/console"
)

func seeing(t *testing.T, n int, test func(c *hosts)) {
	synctest.Test(t, func(t *testing.T) {
		test(hostsOf(t, n, func(o *Options) { o.Config.Events.SSE.Own = true }))
	})
}

// page decodes an answer of the i-th host's console.
func page[A any](c *hosts, i int, path string) (a A) {
	c.Helper()
	status, body := c.all[i].act("GET", path)
	if err := json.Unmarshal([]byte(body), &a); status != 200 || err != nil {
		c.Fatalf("%s at host %d: %d %s", path, i, status, body)
	}
	return a
}

type listed struct {
	GameSessions        []struct{ ID, Node string }
	GameSessionsRunning int
	Players             []struct{ PlayerID, Node string }
	Nodes               []console.Node
}

func (c *hosts) nodes(i int) map[string]console.Node {
	all := map[string]console.Node{}
	for _, n := range page[listed](c, i, "/nodes").Nodes {
		all[n.Name] = n
	}
	return all
}

// Every host lists, finds and counts what any of them runs, and says where it is.
func TestTheConsoleOfACluster(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		var games []*messages.GameSession
		for i := range 15 {
			games = append(games, c.create(i%3))
		}
		seat := asked(c, 0, messages.CreatePlayerSessions{GameSessionID: games[0].ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})[0]
		player, err := c.all[slices.IndexFunc(c.all, func(h *testHost) bool { return h.node.name == games[0].Node })].dial(string(seat.ID), false)
		if err != nil {
			t.Fatal(err)
		}
		defer player.Close()
		time.Sleep(31 * time.Second) // for the loads of all
		for i := range c.all {
			on := map[string]int{}
			for _, g := range page[listed](c, i, "/game-sessions?limit=200").GameSessions {
				on[g.Node]++
			}
			assert.Equal(c, "game sessions by node", len(on), 3)
			top := page[listed](c, i, "/top?limit=20")
			assert.Equal(c, "running", top.GameSessionsRunning, 15)
			assert.Equal(c, "in top", len(top.GameSessions), 15)
			assert.Equal(c, "player of top", top.Players[0].Node, games[0].Node)
			assert.Equal(c, "player", page[listed](c, i, "/players?player=ann").Players[0].Node, games[0].Node)
			sum := page[struct {
				Nodes        int
				GameSessions map[string]int
			}](c, i, "/overview")
			assert.Equal(c, "nodes", sum.Nodes, 3)
			assert.Equal(c, "ACTIVE", sum.GameSessions["active"], 15)
			leaders := 0
			for _, n := range c.nodes(i) {
				assert.Equal(c, n.Name, n.State, "live")
				assert.Equal(c, "game sessions of "+n.Name, n.GameSessions, 5)
				assert.Equal(c, "room of "+n.Name, n.Room, 0)
				if n.LagSeconds == nil || *n.LagSeconds > 1 {
					t.Errorf("the lag of %s is %v", n.Name, n.LagSeconds)
				}
				if n.Leads {
					leaders++
				}
			}
			assert.Equal(c, "leaders", leaders, 1)
			for _, g := range games {
				assert.Equal(c, "node", page[struct{ Node string }](c, i, "/game-session?id="+url.QueryEscape(string(g.ID))).Node, g.Node)
			}
		}
	})
}

// A host drains another one, and cancels that; a refusal names the host that refuses.
func TestADrainOfAnotherNode(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		g := c.create(0)
		asked(c, 0, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		at := slices.IndexFunc(c.all, func(h *testHost) bool { return h.node.name == g.Node })
		other := c.all[(at+1)%3]
		if status, body := other.act("DELETE", "/drain?node="+g.Node); status != http.StatusConflict || !strings.Contains(body, `"node":"`+g.Node+`"`) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := other.act("POST", "/drain?node="+g.Node); status != 200 || !strings.Contains(body, `"draining":true`) {
			t.Fatalf("%d %s", status, body)
		}
		time.Sleep(time.Second)
		for i := range c.all {
			n := c.nodes(i)[g.Node]
			if !n.Draining || n.Leads || n.Room != 0 {
				t.Errorf("host %d shows %+v", i, n)
			}
		}
		if status, body := other.act("DELETE", "/drain?node="+g.Node); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		time.Sleep(time.Second)
		assert.Equal(c, "drains", c.nodes((at + 1) % 3)[g.Node].Draining, false)
		if status, body := other.act("GET", "/drain?node=node-9"); status != http.StatusNotFound || !strings.Contains(body, `"node":"`+other.node.name+`"`) {
			t.Errorf("%d %s", status, body)
		}
	})
}

// A ban at one host is in force at all.
func TestABanOfACluster(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		for range 4 { // on both
			c.reserve(c.create(0), "eve")
		}
		if status, body := c.all[0].act("POST", "/bans?player=eve&seconds=60"); status != 200 || !strings.Contains(body, `"kicked":4,"silent":0`) {
			t.Fatal(body)
		}
		for _, h := range c.all {
			assert.Equal(c, "bans", len(operations{h.Host}.Bans()), 1)
		}
		if status, body := c.all[1].act("DELETE", "/bans?player=eve"); status != 200 {
			t.Fatal(body)
		}
		for _, h := range c.all {
			assert.Equal(c, "bans", len(operations{h.Host}.Bans()), 0)
		}
	})
}

// A ban removes the player even if one node does not answer, and the answer names that node.
func TestABanWhileANodeIsSilent(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		g := c.create(0)
		time.Sleep(time.Second)
		owner, other := c.owner(g)
		silent := c.all[3-owner-other]
		player, err := c.all[owner].dial(c.reserve(g, "eve"), false)
		if err != nil {
			t.Fatal(err)
		}
		silent.node.server.Close()
		status, body := c.all[other].act("POST", "/bans?player=eve&seconds=60")
		if status != http.StatusOK || !strings.Contains(body, `"kicked":1,"silent":0,"silentNodes":["`+silent.node.name+`"]`) {
			t.Errorf("%d %s", status, body)
		}
		time.Sleep(time.Second)
		select {
		case <-player.Done():
		default:
			t.Error("the player is still in the game")
		}
	})
}

// A node is suspect. Lists and actions at each node that answers name it, and when it is back, it removes the player who
// was banned meanwhile.
func TestTheConsoleWhileANodeIsSuspect(t *testing.T) {
	machines(t, func(c *hosts, cut func(i int, on bool)) {
		g := c.create(0)
		time.Sleep(time.Second)
		away, here := c.owner(g)
		name := c.all[away].node.name
		player, err := c.all[away].dial(c.reserve(g, "eve"), false)
		if err != nil {
			t.Fatal(err)
		}
		cut(away, true)
		time.Sleep(9 * time.Second)
		assert.Equal(c, "state", c.nodes(here)[name].State, "suspect")
		silent := `"silentNodes":["` + name + `"]`
		for i, h := range c.all {
			for _, path := range []string{
				"game-sessions", "players", "players?player=eve", "connections", "connections/closed", "top", "overview", "scripts",
			} {
				began := time.Now()
				if status, body := h.act("GET", "/"+path); i != away && (status != 200 || !strings.Contains(body, silent) || time.Since(began) > time.Millisecond) {
					t.Errorf("%s at host %d after %v: %d %s", path, i, time.Since(began), status, body)
				}
			}
		}
		if status, body := c.all[here].act("POST", "/players/kick?player=eve"); status != http.StatusServiceUnavailable || !strings.Contains(body, "these do not: "+name) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := c.all[here].act("POST", "/bans?player=eve&seconds=60"); status != 200 || !strings.Contains(body, `"kicked":0,"silent":0,`+silent) {
			t.Errorf("%d %s", status, body)
		}
		cut(away, false)
		time.Sleep(15 * time.Second)
		assert.Equal(c, "state", c.nodes(here)[name].State, "live")
		select {
		case <-player.Done():
		default:
			t.Error("the player of the node that is back is still in the game")
		}
		if _, body := c.all[here].act("GET", "/game-sessions"); !strings.Contains(body, `"silentNodes":[]`) {
			t.Error(body)
		}
	})
}

// A host is lost. Lists do not name it for longer than a minute.
func TestTheConsoleAfterANodeIsLost(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		lost := (leader(c) + 1) % 3
		c.kill(lost)
		time.Sleep(70 * time.Second)
		for i, h := range c.all {
			if i == lost {
				continue
			}
			if _, body := h.act("GET", "/game-sessions"); !strings.Contains(body, `"silentNodes":[]`) {
				t.Errorf("host %d: %s", i, body)
			}
		}
	})
}

// A registered node does not answer. Lists of game sessions and player sessions name it.
func TestListsWhileANodeIsSilent(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		c.create(0)
		c.create(0)
		c.all[1].node.server.Close()
		for path, status := range map[string]int{"game-sessions": 200, "players": 200, "scripts": 200, "players?player=eve": http.StatusInternalServerError} {
			got, body := c.all[0].act("GET", "/"+path)
			if got != status || !strings.Contains(body, "node-1") || status == 200 && !strings.Contains(body, `"silentNodes":["node-1"]`) {
				t.Errorf("%s: %d %s", path, got, body)
			}
		}
	})
}

// Each action is reported once, by the node that answers the operator, with the result that the operator gets.
func TestReportsOfACluster(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		g := c.create(0)
		_, other := c.owner(g)
		lead := leader(c)
		follower, another := (lead+1)%3, c.all[(lead+2)%3].node.name
		for _, one := range []struct {
			at           int
			method, path string
			status       int
			want         string
		}{
			{0, "POST", "/bans?player=eve&seconds=60", http.StatusOK, `"action":"ban player","target":"eve","by":"this machine","result":"done"`},
			{1, "DELETE", "/bans?player=eve", http.StatusOK, `"action":"lift ban","target":"eve","by":"this machine","result":"done"`},
			{2, "POST", "/bans?player=eve&seconds=60&node=node-0", http.StatusOK, `"action":"ban player","target":"eve","by":"this machine","result":"done"`},
			{follower, "POST", "/nodes/forget?id=" + another, http.StatusBadRequest, `"action":"forget node","target":"` + another + `","by":"this machine","result":"InvalidRequest"`},
			{other, "POST", "/players?player=ann&gameSession=none", http.StatusNotFound, `"result":"NotFound"`},
			{other, "POST", "/players?player=ann&gameSession=" + url.QueryEscape(string(g.ID)), http.StatusOK, `"action":"create player session"`},
		} {
			before := c.actions()
			if status, body := c.all[one.at].act(one.method, one.path); status != one.status {
				t.Errorf("%s: %d %s", one.path, status, body)
			}
			time.Sleep(time.Second)
			if all := c.actions()[len(before):]; len(all) != 1 || !strings.Contains(all[0], one.want) {
				t.Errorf("%s: %q", one.path, all)
			}
		}
	})
}

// actions returns the events about actions of all hosts, in the order of their times.
func (c *hosts) actions() (all []string) {
	for i := range c.all {
		for _, e := range page[struct{ Events []string }](c, i, "/events/recent").Events {
			if strings.Contains(e, "OperatorAction") {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		at := func(e string) string { _, at, _ := strings.Cut(e, `"time":`); return at }
		return strings.Compare(at(a), at(b))
	})
	return all
}

// Readers of one host's events get those of all hosts, each once.
func TestEventsOfACluster(t *testing.T) {
	seeing(t, 3, func(c *hosts) {
		a := c.all[0].ask("GET", "/events", "")
		defer a.Body.Close()
		time.Sleep(time.Second)
		seen, nodes := map[string]int{}, map[string]bool{}
		go func() {
			for lines := bufio.NewScanner(a.Body); lines.Scan(); {
				if data, is := strings.CutPrefix(lines.Text(), "data: "); is && strings.Contains(data, `"GameSessionActive"`) {
					var e struct{ ID, Node string }
					_ = json.Unmarshal([]byte(data), &e)
					seen[e.ID]++
					nodes[e.Node] = true
				}
			}
		}()
		for i := range 15 {
			c.create(i % 3)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(c, "events", len(seen), 15)
		assert.Equal(c, "nodes", len(nodes), 3)
		for id, n := range seen {
			assert.Equal(c, "event "+id, n, 1)
		}
	})
}

// Every host offers and serves the log of a game session that has ended on another one. While that host does not answer,
// the log is refused.
func TestLogsOfACluster(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		zip, err := (&bundle.Bundle{Files: map[string][]byte{"main.js": []byte(
			`let s; exports.ssExports = {init(x) { s = x; }, onProcessStarted() { s.getLogger().info("begun"); return true; }}`)}}).Zip()
		if err != nil {
			t.Fatal(err)
		}
		s := asked(c, 0, messages.CreateScript{Name: "s", Version: "1", Zip: zip})
		f := asked(c, 0, messages.CreateFleet{Name: "f", ScriptID: s.ID, Locations: []string{"us-east-1"}, Runtime: messages.RuntimeConfiguration{
			Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 2}},
		}})
		time.Sleep(5 * time.Second)
		g := asked(c, 0, messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 2})
		at := slices.IndexFunc(c.all, func(h *testHost) bool { return h.node.name == g.Node })
		owner, other := c.all[at], c.all[1-at]
		time.Sleep(time.Second)
		asked(c, 0, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		time.Sleep(2 * time.Second)
		status, _, text := other.call("POST", "/", `{"GameSessionId":"`+string(g.ID)+`"}`, "X-Amz-Target", "GameLift.GetGameSessionLogUrl", "Content-Type", "application/x-amz-json-1.1")
		var out struct{ PreSignedURL string }
		if err := json.Unmarshal([]byte(text), &out); status != 200 || err != nil {
			t.Fatalf("%d %s", status, text)
		}
		for _, h := range []*testHost{other, owner} { // each accepts the URLs of the others
			path := strings.TrimPrefix(out.PreSignedURL, other.Addrs().APIURL)
			if status, _, text = h.call("GET", path+"&format=text", ""); status != 200 || !strings.Contains(text, "begun") {
				t.Errorf("%d %q", status, text)
			}
		}
		if _, text := other.act("GET", "/game-session/log?id="+url.QueryEscape(string(g.ID))); !strings.Contains(text, "begun") {
			t.Errorf("%q", text)
		}
		path := strings.TrimPrefix(out.PreSignedURL, other.Addrs().APIURL)
		owner.node.server.Close()
		if status, _, text = other.call("GET", path+"&format=text", ""); status != http.StatusServiceUnavailable {
			t.Errorf("%d %q", status, text)
		}
	})
}

// A slow reader gets the whole log of a game session on another node. It is followed for a limited time.
func TestASlowReaderOfALogOfACluster(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		g := c.create(0)
		time.Sleep(time.Second)
		owner, other := c.owner(g)
		writer := c.all[owner].logs.Open(g.ID)
		for range 20 {
			for range 20 {
				writer.Write(script.Line{Text: strings.Repeat("x", 1000)})
			}
			time.Sleep(time.Second)
		}
		began := time.Now()
		log, _, err := c.all[other].node.logElsewhere(c.Context(), g.ID, 0, 3*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 1000)
		if _, err := io.ReadFull(log, first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		rest, err := io.ReadAll(log)
		if all := string(first) + string(rest); err != nil || strings.Count(all, strings.Repeat("x", 1000)) != 400 {
			t.Errorf("%v after %d bytes", err, len(all))
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		writer.Close()
	})
}

// The console's page may connect to the game listeners of all hosts, and to nothing else.
func TestThePolicyNamesTheListenersOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hostsOf(t, 2, func(o *Options) { withTLS(t, &o.Config) })
		all := func(h *testHost) string {
			_, wss, _ := strings.Cut(h.Addrs().WSS, ":")
			return " ws://" + h.Addrs().WS + " wss://localhost:" + wss
		}
		policy := func(i int) string {
			_, header, _ := c.all[i].call("GET", "/", "", "Accept", "text/html")
			return header.Get("Content-Security-Policy")
		}
		for i := range c.all {
			if want := "connect-src 'self'" + all(c.all[i]) + all(c.all[1-i]) + ";"; !strings.Contains(policy(i), want) {
				t.Errorf("%s: no %s", policy(i), want)
			}
		}
		c.kill(1)
		time.Sleep(30 * time.Second)
		if want := "connect-src 'self'" + all(c.all[0]) + ";"; !strings.Contains(policy(0), want) {
			t.Errorf("%s: no %s", policy(0), want)
		}
	})
}

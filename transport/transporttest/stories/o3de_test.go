package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// server is the server side of an O3DE game, as a handler's callbacks. It records O3DE's notifications.
type server struct {
	script.Base
	mu   sync.Mutex
	told []string
}

func (s *server) tell(what string) script.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, what)
	return script.Allow
}

func (s *server) OnProcessStarted([]string) script.Decision {
	return s.tell("NotifyGameLiftProcessReady")
}
func (s *server) OnStartGameSession(g *messages.GameSession) script.Decision {
	return s.tell("OnCreateSessionBegin " + g.Name)
}

func (s *server) OnPlayerConnect(m *script.ConnectMessage) script.Decision {
	return s.tell("ValidatePlayerJoinSession " + string(m.Player.PlayerID) + " " + m.Player.PlayerData)
}
func (s *server) OnPlayerAccepted(script.Player) { s.tell("accepted") }
func (s *server) OnPlayerDisconnect(messages.PeerID) script.Decision {
	return s.tell("HandlePlayerLeaveSession")
}
func (s *server) OnProcessTerminate() script.Decision { return s.tell("OnDestroySessionBegin") }

// await waits for a notification and returns all so far.
func (s *server) await(t *testing.T, what string) []string {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		told := slices.Clone(s.told)
		s.mu.Unlock()
		if slices.Contains(told, what) {
			return told
		}
		if time.Since(begun) > patience {
			t.Fatalf("%s is missing in %q", what, told)
		}
	}
}

// gem is the client side. It makes the requests that the O3DE gem makes with the AWS SDK for C++, and returns
// what the gem passes to the game.
type gem struct {
	t    *testing.T
	host *hosttest.Host
}

// request sends a request and returns the status and the body.
func (g gem) request(operation string, in object) (int, object) {
	g.t.Helper()
	body, _ := json.Marshal(in)
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, "http://"+g.host.Host.Addrs().API, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "GameLift."+operation)
	res, err := g.host.Web.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	out := make(object)
	if err := json.Unmarshal(answer, &out); err != nil {
		g.t.Fatalf("%s: %v: %s", operation, err, answer)
	}
	return res.StatusCode, out
}

// createSession returns the id of the game session or of the placement. It returns "" on an error.
func (g gem) createSession(in object) string {
	g.t.Helper()
	if _, queue := in["GameSessionQueueName"]; queue {
		_, out := g.request("StartGameSessionPlacement", in)
		return text(out, "GameSessionPlacement.PlacementId")
	}
	_, out := g.request("CreateGameSession", in)
	return text(out, "GameSession.GameSessionId")
}

// sessionConfig is the gem's form of a game session. The gem uses enums as indexes of tables, so an absent
// member must stay absent.
type sessionConfig struct{ id, name, status, ip, dns string }

// searchSessions returns the game sessions found, or nil on an error.
func (g gem) searchSessions(in object) (found []sessionConfig) {
	g.t.Helper()
	_, out := g.request("SearchGameSessions", in)
	all, _ := at(out, "GameSessions").([]any)
	for _, one := range all {
		if _, there := one.(object)["StatusReason"]; there {
			g.t.Error("a StatusReason of a game session that is ACTIVE")
		}
		if _, there := one.(object)["TerminationTime"]; there {
			g.t.Error("a TerminationTime of a game session that is ACTIVE")
		}
		found = append(found, sessionConfig{text(one, "GameSessionId"), text(one, "Name"), text(one, "Status"), text(one, "IpAddress"), text(one, "DnsName")})
	}
	return found
}

// joinSession returns the player's connection, or nil on an error.
func (g gem) joinSession(in object) *client.Client {
	g.t.Helper()
	_, out := g.request("CreatePlayerSession", in)
	id := text(out, "PlayerSession.PlayerSessionId")
	if id == "" {
		return nil
	}
	host := text(out, "PlayerSession.IpAddress")
	if net.ParseIP(host) == nil {
		g.t.Errorf("IpAddress is %q", host)
	}
	if dns := text(out, "PlayerSession.DnsName"); strings.HasSuffix(dns, ".amazongamelift.com") {
		host = dns
	}
	port, _ := at(out, "PlayerSession.Port").(float64)
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{Addr: (&net.TCPAddr{IP: net.ParseIP(host), Port: int(port)}).String(), PlayerSessionID: id, DialContext: g.host.Net.Dial})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(c.Close)
	return c
}

// await waits until a game session has a status.
func (g gem) await(id, status string) object {
	g.t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, out := g.request("DescribeGameSessions", object{"GameSessionId": id})
		if text(out, "GameSessions.0.Status") == status {
			return out
		}
		if time.Since(begun) > patience {
			g.t.Fatalf("not %s: %v", status, out)
		}
	}
}

// o3de runs a test with one host, and with three hosts of a cluster. game is the callbacks of all of them. Game sessions
// without players end immediately.
func o3de(t *testing.T, test func(t *testing.T, g gem, game *server)) {
	oneAndThree(t, func(t *testing.T, hosts int) {
		synctest.Test(t, func(t *testing.T) {
			game := new(server)
			h := startHosts(t, hosts, nil, hosttest.Config, func(o *host.Options) {
				o.Config.Session.EmptyTimeout = 0
				o.NewHandler = func(*messages.Fleet) script.Handler { return game }
			})
			test(t, gem{t, h}, game)
		})
	})
}

// twin makes the asynchronous variant of a call: the call runs in parallel with the game, which is notified
// of the result.
func twin[T any](call func() T) (notified <-chan T) {
	done := make(chan T, 1)
	go func() { done <- call() }()
	return done
}

// notification waits for the result of an asynchronous call.
func notification[T any](t *testing.T, from <-chan T) (result T) {
	t.Helper()
	select {
	case result = <-from:
	case <-time.After(patience):
		t.Fatal("no notification")
	}
	return result
}

// The asynchronous variants make the same calls, several of them in parallel.
// API-65.
func TestO3DEAsynchronousCalls(t *testing.T) {
	o3de(t, func(t *testing.T, g gem, _ *server) {
		var made []<-chan string
		for _, name := range []string{"one", "two", "three"} {
			in := object{"Name": name, "FleetId": "fleet-dev", "MaximumPlayerSessionCount": 2, "IdempotencyToken": name}
			made = append(made, twin(func() string { return g.createSession(in) }), twin(func() string { return g.createSession(in) }))
		}
		ids := make(map[string]bool)
		for _, m := range made {
			ids[notification(t, m)] = true
		}
		if len(ids) != 3 || ids[""] {
			t.Fatalf("CreateSessionAsync of three, each called twice: %v", ids)
		}
		if id := notification(t, twin(func() string { return g.createSession(object{"FleetId": "fleet-none", "MaximumPlayerSessionCount": 2}) })); id != "" {
			t.Errorf("CreateSessionAsync on a fleet that is not there: %s", id)
		}
		for id := range ids {
			g.await(id, "ACTIVE")
		}
		found := notification(t, twin(func() []sessionConfig {
			return g.searchSessions(object{"FleetId": "fleet-dev", "FilterExpression": "gameSessionName='two'"})
		}))
		if len(found) != 1 || found[0].name != "two" {
			t.Fatalf("SearchSessionsAsync: %+v", found)
		}
		join := func(player string) <-chan *client.Client {
			return twin(func() *client.Client { return g.joinSession(object{"GameSessionId": found[0].id, "PlayerId": player}) })
		}
		joined := 0
		for _, from := range []<-chan *client.Client{join("a"), join("b"), join("c")} {
			if c := notification(t, from); c != nil {
				joined++
				defer c.Close()
			}
		}
		if joined != 2 {
			t.Errorf("JoinSessionAsync of three into a game session of two: %d joined", joined)
		}
	})
}

// API-65.
func TestO3DECallByCall(t *testing.T) {
	o3de(t, func(t *testing.T, g gem, game *server) {
		// A failed call returns an empty string; the log gets the name and the message of the error.
		if id := g.createSession(object{"FleetId": "fleet-none", "MaximumPlayerSessionCount": 2}); id != "" {
			t.Errorf("created %s on a fleet that is not there", id)
		}
		status, refused := g.request("CreateGameSession", object{"FleetId": "fleet-none", "MaximumPlayerSessionCount": 2})
		if status != http.StatusBadRequest || text(refused, "__type") != "NotFoundException" || text(refused, "Message") == "" {
			t.Errorf("refused with %d: %v", status, refused)
		}

		id := g.createSession(object{
			"CreatorId": "o3de", "Name": "match", "FleetId": "fleet-dev", "MaximumPlayerSessionCount": 2, "IdempotencyToken": "o3de-1",
			"GameProperties": []object{{"Key": "level", "Value": "castle"}},
		})
		if !strings.HasSuffix(id, "/o3de-1") {
			t.Fatalf("CreateSession returned %q", id)
		}
		g.await(id, "ACTIVE")
		found := g.searchSessions(object{"FleetId": "fleet-dev", "FilterExpression": "gameSessionProperties.level='castle'", "SortExpression": "creationTimeMillis ASC", "Limit": 5})
		if len(found) != 1 || found[0].id != id || found[0].name != "match" || found[0].status != "ACTIVE" || net.ParseIP(found[0].ip) == nil {
			t.Errorf("SearchSessions: %+v", found)
		}
		if found := g.searchSessions(object{"FleetId": "fleet-dev", "FilterExpression": "level = castle"}); found != nil {
			t.Errorf("SearchSessions with a filter that is wrong: %+v", found)
		}

		one := g.joinSession(object{"GameSessionId": id, "PlayerId": "player one", "PlayerData": "blue"})
		two := g.joinSession(object{"GameSessionId": id, "PlayerId": "player two"})
		if third := g.joinSession(object{"GameSessionId": id, "PlayerId": "player three"}); third != nil {
			t.Error("a third player joined a game session of two")
		}
		one.Close() // LeaveSession
		game.await(t, "HandlePlayerLeaveSession")
		two.Close()
		ended := g.await(id, "TERMINATED") // the last player has left
		if got := at(ended, "GameSessions.0.CurrentPlayerSessionCount"); got != 0.0 {
			t.Errorf("%v players are left", got)
		}
		want := []string{
			"NotifyGameLiftProcessReady", "OnCreateSessionBegin match", "ValidatePlayerJoinSession player one blue", "accepted",
			"ValidatePlayerJoinSession player two ", "accepted", "HandlePlayerLeaveSession", "HandlePlayerLeaveSession",
		}
		if told := game.await(t, "HandlePlayerLeaveSession"); len(told) < len(want) || !slices.Equal(told[:len(want)], want) {
			t.Errorf("the server was told %q, want %q", told, want)
		}

		// The request type for a queue: no players, no latencies, no polling.
		if got := g.createSession(object{"PlacementId": "o3de-2", "GameSessionQueueName": "queue-dev", "GameSessionName": "placed", "MaximumPlayerSessionCount": 2}); got != "o3de-2" {
			t.Errorf("CreateSession with a queue returned %q", got)
		}
		game.await(t, "OnCreateSessionBegin placed")

		// A configuration that does not exist is refused with an error name that the gem can log.
		if status, out := g.request("StartMatchmaking", object{"ConfigurationName": "m", "Players": []object{{"PlayerId": "p"}}}); status != http.StatusBadRequest ||
			!slices.Contains([]string{"NotFoundException"}, text(out, "__type")) {
			t.Errorf("StartMatchmaking: %d %v", status, out)
		}
	})
}

package stories

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

func TestMain(m *testing.M) {
	// After a message to a stopped actor, the actor library runs a timer for one second. It ends by itself.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// config returns the configuration of a host with access keys, three locations and a durable store.
func config(t *testing.T) host.Config {
	c := hosttest.Config(t)
	c.Store.Path = t.TempDir() + "/troupe.db"
	c.Locations = []host.Location{{Name: "us-west-2"}, {Name: "eu-west-1"}}
	c.API.Auth = "sigv4"
	c.API.Keys = []host.APIKey{{ID: accessKey, Secret: secretKey}}
	return c
}

// everyDriver runs a story with the SDK for Go in virtual time, and with the vendor's tools in their own
// processes over real sockets: each with one host, and with three hosts of a cluster.
func everyDriver(t *testing.T, story func(teller)) {
	t.Run("GoSDK", func(t *testing.T) {
		oneAndThree(t, func(t *testing.T, hosts int) {
			synctest.Test(t, func(t *testing.T) {
				h := startHosts(t, hosts, nil, config, nil)
				story(teller{t, newGoSDK(t, "http://"+h.Host.Addrs().API, h.Web), h.Net.Dial})
			})
		})
	})
	for name, make := range map[string]func(*testing.T, string) driver{"JavaScriptSDK": newJSSDK, "CommandLine": newCommandLine} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("a minute of processes: make test-full tells the story by them; transport/serviceapi calls the API by each")
			}
			oneAndThree(t, func(t *testing.T, hosts int) {
				h := startHosts(t, hosts, hosttest.System, config, nil)
				story(teller{t, make(t, balancer(t, h)), h.Net.Dial})
			})
		})
	}
}

// game is a script that answers each message with its sender.
const game = `
let session;
exports.ssExports = {
    init: (s) => { session = s; },
    onProcessStarted: () => true,
    onPlayerConnect: () => true,
    onMessage: (message) => {
        session.sendReliableMessage(session.newTextGameMessage(7, session.getServerId(), 'hello ' + message.sender), message.sender);
    },
};
`

func archive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("main.js")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte(game))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// teller runs a story with one driver.
type teller struct {
	*testing.T
	driver
	// opens the players' connections
	network func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)
}

// ok calls an operation that must succeed.
func (s teller) ok(operation string, in object) object {
	s.Helper()
	out, failed := s.call(s.T, operation, in)
	if failed != nil {
		s.Fatalf("%s: %s: %s", operation, failed.Code, failed.Message)
	}
	return out
}

// refused calls an operation that must fail with code.
func (s teller) refused(code, operation string, in object) {
	s.Helper()
	out, failed := s.call(s.T, operation, in)
	if failed == nil {
		s.Fatalf("%s succeeded: %v", operation, out)
	}
	if got := failed.Code; got != code {
		s.Errorf("%s: %s (%s), want %s", operation, got, failed.Message, code)
	}
}

// until repeats a call until a member has a value.
func (s teller) until(operation string, in object, path, want string) object {
	s.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		out := s.ok(operation, in)
		if text(out, path) == want {
			return out
		}
		if time.Since(begun) > patience {
			s.Fatalf("%s: %s is %v, not %s", operation, path, at(out, path), want)
		}
	}
}

func TestAWholeStory(t *testing.T) { everyDriver(t, tell) }

// tell runs the story: the fleet of a script in three regions, a queue with an alias of that fleet, a
// placement for the two players of the API page's example (service-api.md 3.5, V0), their game, the search
// for it, and its end.
func tell(s teller) {
	script := text(s.ok("CreateScript", object{"Name": "echo", "ZipFile": archive(s.T)}), "Script.ScriptId")
	fleet := s.ok("CreateFleet", object{
		"Name": "story", "ScriptId": script, "EC2InstanceType": "c5.large", "FleetType": "ON_DEMAND",
		"Locations":            []object{{"Location": "us-west-2"}, {"Location": "eu-west-1"}},
		"RuntimeConfiguration": object{"ServerProcesses": []object{{"LaunchPath": "/local/game/main.js", "ConcurrentExecutions": 2}}},
	})
	fleetID := text(fleet, "FleetAttributes.FleetId")
	s.until("DescribeFleetAttributes", object{"FleetIds": []string{fleetID}}, "FleetAttributes.0.Status", "ACTIVE")
	alias := text(s.ok("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": fleetID}}), "Alias.AliasArn")

	queue := s.ok("CreateGameSessionQueue", object{
		"Name": "story-queue", "TimeoutInSeconds": 120, "Destinations": []object{{"DestinationArn": alias}},
		"PlayerLatencyPolicies": []object{{"MaximumIndividualPlayerLatencyMilliseconds": 130, "PolicyDurationSeconds": 60}},
	})
	if got := at(queue, "GameSessionQueue.TimeoutInSeconds"); got != 120.0 {
		s.Errorf("queue: timeout %v", got)
	}
	s.refused("InvalidRequestException", "CreateGameSessionQueue", object{"Name": "story-queue"})

	placement := object{
		"PlacementId": "story-1", "GameSessionQueueName": "story-queue", "MaximumPlayerSessionCount": 4, "GameSessionName": "two players",
		"GameProperties":        []object{{"Key": "map", "Value": "winter"}},
		"DesiredPlayerSessions": []object{{"PlayerId": "player1"}, {"PlayerId": "player2"}},
		"PlayerLatencies":       latencies("player1", 100, 50, "player2", 120, 150),
	}
	if got := text(s.ok("StartGameSessionPlacement", placement), "GameSessionPlacement.Status"); got != "PENDING" {
		s.Errorf("placement: %s at first", got)
	}
	placed := s.until("DescribeGameSessionPlacement", object{"PlacementId": "story-1"}, "GameSessionPlacement.Status", "FULFILLED")
	// us-west-2 exceeds the latency limit for player2. Of the other locations, only us-east-1 has latencies.
	if got := text(placed, "GameSessionPlacement.GameSessionRegion"); got != "us-east-1" {
		s.Errorf("placed in %s", got)
	}
	s.refused("InvalidRequestException", "StartGameSessionPlacement", placement)
	s.refused("InvalidRequestException", "StopGameSessionPlacement", object{"PlacementId": "story-1"})

	id := text(placed, "GameSessionPlacement.GameSessionArn")
	address := fmt.Sprintf("%s:%v", text(placed, "GameSessionPlacement.IpAddress"), at(placed, "GameSessionPlacement.Port"))
	s.play(address, []string{
		text(placed, "GameSessionPlacement.PlacedPlayerSessions.0.PlayerSessionId"), text(placed, "GameSessionPlacement.PlacedPlayerSessions.1.PlayerSessionId"),
	}, func() {
		s.until("DescribePlayerSessions", object{"GameSessionId": id}, "PlayerSessions.1.Status", "ACTIVE")
		found := s.ok("SearchGameSessions", object{
			"AliasId":          alias[strings.LastIndexByte(alias, '/')+1:],
			"FilterExpression": "gameSessionProperties.map='winter' AND hasAvailablePlayerSessions=true AND playerSessionCount>=2",
		})
		if text(found, "GameSessions.0.GameSessionId") != id || at(found, "GameSessions.0.CurrentPlayerSessionCount") != 2.0 {
			s.Errorf("search: %v", found)
		}
		s.refused("InvalidRequestException", "SearchGameSessions", object{"FleetId": fleetID, "FilterExpression": "map='winter'"})
		s.refused("GameSessionFullException", "CreatePlayerSessions", object{"GameSessionId": id, "PlayerIds": []string{"a", "b", "c"}})
		s.ok("UpdateGameSession", object{"GameSessionId": id, "PlayerSessionCreationPolicy": "DENY_ALL"})
		s.refused("InvalidGameSessionStatusException", "CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "late"})
		s.ok("TerminateGameSession", object{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"})
		ended := s.until("DescribeGameSessions", object{"GameSessionId": id}, "GameSessions.0.Status", "TERMINATED")
		if got := text(ended, "GameSessions.0.StatusReason"); got != "FORCE_TERMINATED" {
			s.Errorf("ended: %s", got)
		}
	})
	s.until("DescribePlayerSessions", object{"GameSessionId": id, "PlayerSessionStatusFilter": "COMPLETED"}, "PlayerSessions.1.Status", "COMPLETED")
	s.refused("NotFoundException", "DescribeGameSessionPlacement", object{"PlacementId": "story-2"})
	s.ok("DeleteGameSessionQueue", object{"Name": "story-queue"})
	s.ok("DeleteFleet", object{"FleetId": fleetID})
	s.until("DescribeFleetAttributes", object{"FleetIds": []string{fleetID}}, "FleetAttributes.0.Status", "TERMINATED")
}

func latencies(one string, oneEast, oneWest float64, two string, twoEast, twoWest float64) []object {
	l := func(player, region string, ms float64) object {
		return object{"PlayerId": player, "RegionIdentifier": region, "LatencyInMilliseconds": ms}
	}
	return []object{l(one, "us-east-1", oneEast), l(one, "us-west-2", oneWest), l(two, "us-east-1", twoEast), l(two, "us-west-2", twoWest)}
}

// play connects the players and lets each send a message to the script. Then it calls during, and waits for
// the end of the game.
func (s teller) play(address string, players []string, during func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*patience)
	defer cancel()
	var all []*client.Client
	for _, id := range players {
		c := s.dial(ctx, address, id)
		defer c.Close()
		all = append(all, c)
	}
	for _, c := range all {
		s.greet(ctx, c)
	}
	during()
	for _, c := range all {
		for ended := false; !ended; {
			select {
			case <-c.Events():
			case <-c.Done():
				ended = true
			case <-ctx.Done():
				s.Fatal("the game goes on after its end")
			}
		}
	}
}

// dial connects a player.
func (s teller) dial(ctx context.Context, address, id string) *client.Client {
	s.Helper()
	c, err := client.Dial(ctx, client.Options{Addr: address, PlayerSessionID: id, DialContext: s.network})
	if err != nil {
		s.Fatalf("player %s: %v", id, err)
	}
	return c
}

// greet sends a message to the script and waits for the answer.
func (s teller) greet(ctx context.Context, c *client.Client) {
	s.Helper()
	if err := c.Send(ctx, client.Message{OpCode: 3, TargetPlayer: client.Server, Payload: []byte("hi")}); err != nil {
		s.Fatal(err)
	}
	want := fmt.Sprintf("hello %d", c.PeerID())
	for answered := false; !answered; {
		select {
		case e := <-c.Events():
			answered = e.Kind == client.EventMessage && e.OpCode == 7 && string(e.Payload) == want
		case <-ctx.Done():
			s.Fatalf("no answer %q", want)
		}
	}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/peer"
)

// again sends a request to the i-th host, as an attempt of a call.
func again(c *hosts, i int, call string, q messages.Request) any {
	c.Helper()
	a, err := c.all[i].Doer().Do(messages.WithReplayKey(c.Context(), call), q)
	if err != nil {
		c.Fatalf("%T at host %d: %v", q, i, err)
	}
	return a
}

// identity returns what names the resource in the answer to a create.
func identity(answer any) string {
	switch a := answer.(type) {
	case *messages.Fleet:
		return string(a.ID)
	case *messages.Alias:
		return string(a.ID)
	case *messages.Script:
		return string(a.ID)
	case *messages.Build:
		return string(a.ID)
	case messages.Location:
		return a.Name + a.Created.String()
	case *messages.Compute:
		return a.Name + a.Created.String()
	case *messages.Queue:
		return string(a.Name) + a.Created.String()
	case *messages.RuleSet:
		return string(a.Name) + a.Created.String()
	case *messages.Matchmaker:
		return string(a.Name) + a.Created.String()
	case *messages.Placement:
		return string(a.Request.ID) + a.Started.String()
	case *messages.Ticket:
		return string(a.ID) + a.Started.String()
	case *messages.GameSession:
		return string(a.ID)
	case []*messages.PlayerSession:
		return string(a[0].ID)
	}
	panic(fmt.Sprintf("%T", answer))
}

// creates returns a request for each kind of resource.
func creates(c *hosts) []messages.Request {
	c.Helper()
	zip, err := (&bundle.Bundle{Files: map[string][]byte{"main.js": []byte("exports.ssExports = {init() {}}")}}).Zip()
	if err != nil {
		c.Fatal(err)
	}
	const body = `{"name": "r", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 8, "maxPlayers": 8}]}`
	player := []messages.TicketPlayer{{ID: "ann"}}
	return []messages.Request{
		messages.CreateLocation{Location: messages.Location{Name: "custom-here"}},
		messages.CreateScript{Name: "s", Version: "1", Zip: zip},
		messages.CreateFleet{ID: "fleet-anywhere", Name: "f", Anywhere: true, Locations: []string{"custom-here"}},
		messages.RegisterCompute{Compute: messages.Compute{FleetID: "fleet-anywhere", Name: "box", Location: "custom-here", IPAddress: "10.1.2.3"}},
		messages.CreateAlias{Name: "a", FleetID: "fleet-dev"},
		messages.CreateQueue{Queue: messages.Queue{Name: "q", Timeout: time.Minute}},
		messages.StartPlacement{ID: "p", Queue: "queue-dev", MaxPlayers: 2},
		messages.CreateRuleSet{RuleSet: messages.RuleSet{Name: "r", Body: body}},
		messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{Name: "m", RuleSet: "r", Standalone: true, RequestTimeout: time.Hour}},
		messages.StartMatchmaking{Matchmaker: "m", Players: player},
		messages.StartMatchBackfill{Matchmaker: "m", Players: []messages.TicketPlayer{{ID: "bob", Team: "all"}}},
		messages.CreateBuild{Name: "b", Bucket: "bucket", Key: "none.zip"},
	}
}

// clusteredWithBuilds is clustered with hosts that take builds.
func clusteredWithBuilds(t *testing.T, n int, test func(c *hosts)) {
	synctest.Test(t, func(t *testing.T) {
		test(hostsOf(t, n, func(o *Options) { o.Config.Builds.Storage, o.Config.Builds.Dir = t.TempDir(), t.TempDir() }))
	})
}

func leader(c *hosts) int {
	return slices.IndexFunc(c.all, func(h *testHost) bool { return h.node.self.View().Leads })
}

// CL-6: a retry of a create at another host gets the first answer, and creates nothing. That holds if the leader, which
// has kept the answers, has gone meanwhile.
func TestACallHasOneEffectAtAllHosts(t *testing.T) {
	clusteredWithBuilds(t, 3, func(c *hosts) {
		all := creates(c)
		lead := leader(c)
		var first []string
		for n, q := range all {
			call := fmt.Sprint("call-", n)
			first = append(first, identity(again(c, n%3, call, q)))
			for i := range c.all {
				assert.Equal(c, fmt.Sprintf("%T at host %d", q, i), identity(again(c, i, call, q)), first[n])
			}
		}
		session := again(c, 0, "game", messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4}).(*messages.GameSession)
		seat := messages.CreatePlayerSessions{GameSessionID: session.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}}
		reserved := identity(again(c, 1, "seat", seat))
		for i := range c.all {
			assert.Equal(c, "game session", identity(again(c, i, "game", messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})), string(session.ID))
			assert.Equal(c, "player session", identity(again(c, i, "seat", seat)), reserved)
		}
		assert.Equal(c, "player sessions", len(asked(c, 2, messages.PlayerSessionQuery{GameSessionID: session.ID})), 1)
		time.Sleep(2 * time.Second)
		assert.Equal(c, "game sessions", asked(c, 0, messages.FindGameSessions{}).Matched, 2) // one of the placement

		c.all[lead].Close()
		time.Sleep(20 * time.Second)
		other, another := (lead+1)%3, (lead+2)%3
		for n, q := range all {
			for _, i := range []int{other, another} {
				assert.Equal(c, fmt.Sprintf("%T at host %d after the leader has gone", q, i), identity(again(c, i, fmt.Sprint("call-", n), q)), first[n])
			}
		}
		if a := identity(again(c, other, "another call", messages.CreateAlias{Name: "a", FleetID: "fleet-dev"})); a == first[4] {
			t.Error("another call got the alias of the first")
		}
		c.refused(another, messages.InvalidRequest, messages.CreateQueue{Queue: messages.Queue{Name: "q", Timeout: time.Minute}})
	})
}

// The table above has all requests that create something.
func TestCreatesAreComplete(t *testing.T) {
	clusteredWithBuilds(t, 1, func(c *hosts) {
		var have []string
		for _, q := range append(creates(c), messages.CreateGameSession{}, messages.CreatePlayerSessions{}) {
			have = append(have, reflect.TypeOf(q).Name())
		}
		for _, name := range peer.Names() {
			if (strings.HasPrefix(name, "Create") || strings.HasPrefix(name, "Start")) && !slices.Contains(have, name) {
				t.Errorf("%s is not in the table", name)
			}
		}
	})
}

// CL-6, over HTTP: the hosts take the invocation id of an SDK for the same call.
func TestARetryOfAnSDKAtAnotherHost(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		call := func(i int, operation, body string) string {
			code, _, answer := c.all[i].call("POST", "/", body, "X-Amz-Target", "GameLift."+operation, "Content-Type", "application/x-amz-json-1.1",
				"Amz-Sdk-Invocation-Id", "id")
			if code != 200 {
				c.Fatalf("%s at host %d: %d %s", operation, i, code, answer)
			}
			return answer
		}
		create := `{"FleetId": "fleet-dev", "MaximumPlayerSessionCount": 2}`
		first := call(0, "CreateGameSession", create)
		id := regexp.MustCompile(`"GameSessionId":"([^"]*)"`).FindStringSubmatch(first)[1]
		seat := call(1, "CreatePlayerSession", `{"GameSessionId": "`+id+`", "PlayerId": "ann"}`)
		alias := call(2, "CreateAlias", `{"Name": "a", "RoutingStrategy": {"Type": "TERMINAL", "Message": "no"}}`)
		for i := range c.all {
			assert.Equal(c, "game session", call(i, "CreateGameSession", create), first)
			assert.Equal(c, "player session", call(i, "CreatePlayerSession", `{"GameSessionId": "`+id+`", "PlayerId": "ann"}`), seat)
			assert.Equal(c, "alias", call(i, "CreateAlias", `{"Name": "a", "RoutingStrategy": {"Type": "TERMINAL", "Message": "no"}}`), alias)
		}
	})
}

// many returns how often a test repeats what it does.
func many(short int) int {
	if testing.Short() {
		return short
	}
	return 10_000
}

// slow delays what the hosts ask of the coordinator.
func (c *hosts) slow(d time.Duration) {
	for _, client := range c.clients {
		client.SetFaults(clustertest.Faults{Delay: d})
	}
}

// CL-3: a fleet that one host has created is known to the next one at once.
func TestAFleetIsKnownEverywhereAtOnce(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		times := min(many(30), 1000)
		s := asked(c, 0, messages.CreateScript{Name: "s", Version: "1", Zip: c.script("")})
		for i := range times {
			f := asked(c, i%3, messages.CreateFleet{Name: "f", ScriptID: s.ID, Locations: []string{"us-east-1"}, Runtime: messages.RuntimeConfiguration{
				Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 1}},
			}})
			next, other := (i+1)%3, (i+2)%3
			all := asked(c, next, messages.FleetQuery{With: []messages.FleetID{f.ID}})
			if !slices.ContainsFunc(all, func(o *messages.Fleet) bool { return o.ID == f.ID }) {
				t.Fatalf("fleet %d is not described at the next host", i)
			}
			_, err := c.all[next].Doer().Do(c.Context(), messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 2})
			if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
				t.Fatalf("fleet %d, a game session: %v", i, err)
			}
			queue := messages.Queue{Name: messages.QueueName(fmt.Sprint("q", i)), Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::fleet/" + string(f.ID)}}
			asked(c, other, messages.CreateQueue{Queue: queue})
			asked(c, other, messages.DeleteQueue{Name: queue.Name})
			asked(c, next, messages.DeleteFleet{ID: f.ID})
			time.Sleep(15 * time.Second) // until it is gone
		}
	})
}

// CL-5, CL-120: an equal token at two hosts at once makes one game session.
func TestATokenAtTwoHostsAtOnce(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		c.slow(time.Millisecond)
		made := map[messages.GameSessionID]bool{}
		n := many(300)
		for i := range n {
			q := messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 2, IdempotencyToken: fmt.Sprint("token-", i)}
			var got [2]*messages.GameSession
			var both sync.WaitGroup
			for k := range got {
				both.Go(func() { got[k] = asked(c, (i+k)%3, q) })
			}
			both.Wait()
			if got[0].ID != got[1].ID || got[0].Port != got[1].Port {
				t.Fatalf("%s at port %d, %s at port %d", got[0].ID, got[0].Port, got[1].ID, got[1].Port)
			}
			made[got[0].ID] = true
			if i == 0 {
				q.Name = "other"
				c.refused(0, messages.IdempotentMismatch, q)
				c.refused(1, messages.IdempotentMismatch, q)
			}
			asked(c, i%3, messages.TerminateGameSession{GameSessionID: got[0].ID, Force: true})
			time.Sleep(2 * time.Second) // for the loads of all
		}
		assert.Equal(c, "game sessions", len(made), n)
		assert.Equal(c, "found", asked(c, 0, messages.FindGameSessions{}).Matched, n)
	})
}

// CL-121: answers are cut, and the call is repeated at another host. Sometimes the first attempt has ended, sometimes it
// is still running, and sometimes its connection has broken.
func TestAnswersAreCut(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		c.slow(time.Millisecond)
		n := many(300)
		twice := func(i int, q messages.Request) string {
			call := fmt.Sprintf("%T-%d", q, i)
			ctx, cancel := context.WithCancel(messages.WithReplayKey(c.Context(), call))
			defer cancel()
			var first sync.WaitGroup
			first.Go(func() { _, _ = c.all[i%3].Doer().Do(ctx, q) })
			switch i % 4 {
			case 0:
				first.Wait()
			case 1:
				time.Sleep(time.Duration(i%7) * time.Millisecond / 2)
				cancel()
			}
			answer := identity(again(c, (i+1)%3, call, q))
			first.Wait()
			assert.Equal(c, "the third answer", identity(again(c, (i+2)%3, call, q)), answer)
			return answer
		}
		for i := range n {
			id := messages.GameSessionID(twice(i, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4}))
			twice(i, messages.CreatePlayerSessions{GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
			assert.Equal(c, "player sessions", len(asked(c, i%3, messages.PlayerSessionQuery{GameSessionID: id})), 1)
			asked(c, i%3, messages.TerminateGameSession{GameSessionID: id, Force: true})
			time.Sleep(2 * time.Second) // for the loads of all
		}
		assert.Equal(c, "found", asked(c, 0, messages.FindGameSessions{}).Matched, n)
	})
}

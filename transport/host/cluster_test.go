package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/coord"
)

// hosts are whole hosts in a bubble that are one cluster over a coordinator in memory.
type hosts struct {
	*testing.T
	coordinator *clustertest.Store
	clients     []*clustertest.Client // of the hosts
	all         []*testHost
}

func clustered(t *testing.T, n int, test func(c *hosts)) {
	synctest.Test(t, func(t *testing.T) {
		test(hostsOf(t, n, func(*Options) {}))
	})
}

// hostsOf starts the hosts of a cluster. It must be called in a bubble.
func hostsOf(t *testing.T, n int, change func(o *Options)) *hosts {
	c := &hosts{T: t, coordinator: clustertest.NewStore()}
	network := memory(t)
	t.Cleanup(c.coordinator.Close)
	for i := range n {
		client := c.coordinator.Client()
		c.clients = append(c.clients, client)
		o := Options{Config: config(t), Coordinator: client, Network: network}
		o.Config.Cluster.Name, o.Config.Cluster.Node = "test", fmt.Sprint("node-", i)
		o.Config.Cluster.Etcd.Endpoints, o.Config.Cluster.Peers.Addr = []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
		o.Config.Fleets[0].GameSessionsMax = 5
		change(&o)
		c.all = append(c.all, begin(t, o))
	}
	time.Sleep(5 * time.Second) // for the loads of all
	return c
}

// asked has a request answered at the i-th host, for all hosts.
func asked[A any](c *hosts, i int, q messages.RequestOf[A]) A {
	c.Helper()
	a, err := messages.Do(c.Context(), c.all[i].Doer(), q)
	if err != nil {
		c.Fatalf("%T at host %d: %v", q, i, err)
	}
	return a
}

func (c *hosts) refused(i int, code messages.ErrorCode, q messages.Request) {
	c.Helper()
	if _, err := c.all[i].Doer().Do(c.Context(), q); !errors.Is(err, &messages.Error{Code: code}) {
		c.Errorf("%T at host %d: the error is %v, want %v", q, i, err, code)
	}
}

func (c *hosts) create(i int) *messages.GameSession {
	c.Helper()
	return asked(c, i, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
}

func (c *hosts) ends(i int, id messages.PlacementID) messages.PlacementStatus {
	c.Helper()
	time.Sleep(2 * time.Second)
	return asked(c, i, messages.PlacementQuery{ID: id}).Status
}

// Whichever host is asked, the answer is the same, and work goes to all of them.
func TestACluster(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		on := map[int]int{}
		var games []messages.GameSessionID
		for i := range 15 {
			g := c.create(i % 3)
			on[g.Port]++
			games = append(games, g.ID)
		}
		for port, n := range on { // CL-10
			assert.Equal(c, fmt.Sprint("game sessions at port ", port), n, 5)
		}
		time.Sleep(2 * time.Second)
		c.refused(1, messages.FleetCapacityExceeded, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
		for i := range c.all {
			assert.Equal(c, "found", asked(c, i, messages.FindGameSessions{Filter: "maximumSessions = 4"}).Matched, 15)
			for _, id := range games {
				assert.Equal(c, "status", asked(c, i, messages.GameSessionQuery{ID: id}).Status, messages.GameSessionActive)
			}
		}
		seats := asked(c, 2, messages.CreatePlayerSessions{GameSessionID: games[0], Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		assert.Equal(c, "player sessions", len(asked(c, 0, messages.PlayerSessionQuery{PlayerSessionID: seats[0].ID})), 1)
		asked(c, 1, messages.TerminateGameSession{GameSessionID: games[0], Force: true})
		time.Sleep(3 * time.Second)
		asked(c, 2, messages.StartPlacement{ID: "p", Queue: "queue-dev", MaxPlayers: 2}) // in the place that has become free
		assert.Equal(c, "placement", c.ends(0, "p"), messages.PlacementFulfilled)
	})
}

// A game session that has ended is known at all hosts after the host that ended it has left (CL-209).
func TestTheEndOfAGameSessionIsKnown(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		g := c.create(0)
		tokened := messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4, IdempotencyToken: "token"}
		same := asked(c, 0, tokened)
		for _, id := range []messages.GameSessionID{g.ID, same.ID} {
			asked(c, 0, messages.TerminateGameSession{GameSessionID: id, Force: true})
		}
		time.Sleep(5 * time.Second)
		owner, _ := c.owner(g)
		sameOwner, _ := c.owner(same)
		for i := range c.all {
			if i == owner || i == sameOwner {
				c.all[i].stop(messages.CloseGoingAway)
			}
		}
		time.Sleep(time.Second) // the watch lag
		for i := range c.all {
			if i == owner || i == sameOwner {
				continue
			}
			assert.Equal(c, "status", asked(c, i, messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionTerminated)
			c.refused(i, messages.InvalidGameSessionStatus, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
			assert.Equal(c, "id of a repeated create", asked(c, i, tokened).ID, same.ID)
			other := tokened
			other.MaxPlayers++
			c.refused(i, messages.IdempotentMismatch, other)
		}
	})
}

// A script that is uploaded at one host runs on all, also in a location that was made later, and a new version of it, too.
func TestAScriptOfACluster(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		upload := func(text string) []byte {
			zip, err := (&bundle.Bundle{Files: map[string][]byte{"main.js": []byte(text)}}).Zip()
			if err != nil {
				t.Fatal(err)
			}
			return zip
		}
		s := asked(c, 0, messages.CreateScript{Name: "s", Version: "1", Zip: upload("exports.ssExports = {init() {}, onProcessStarted: () => true}")})
		asked(c, 2, messages.CreateLocation{Location: messages.Location{Name: "custom-lab"}})
		f := asked(c, 1, messages.CreateFleet{Name: "f", ScriptID: s.ID, Locations: []string{"us-east-1", "custom-lab"}, Runtime: messages.RuntimeConfiguration{
			Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 2}},
		}})
		time.Sleep(5 * time.Second)
		on := map[int]int{}
		for i := range 6 {
			g := asked(c, i%3, messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 2})
			assert.Equal(c, "version", g.ScriptVersion, "1 (1)")
			on[g.Port]++
		}
		assert.Equal(c, "hosts with game sessions", len(on), 3)
		clear(on)
		for i := range 6 {
			on[asked(c, i%3, messages.CreateGameSession{FleetID: f.ID, Location: "custom-lab", MaxPlayers: 2}).Port]++
		}
		assert.Equal(c, "hosts with game sessions in the new location", len(on), 3)
		u := asked(c, 2, messages.UpdateScript{ID: s.ID, Version: "2", Zip: upload("exports.ssExports = {init() {}, onProcessStarted: () => true, x: 1}")})
		if u.Loading || len(u.Refused) > 0 {
			t.Errorf("the update is %+v", u)
		}
		bad := asked(c, 0, messages.UpdateScript{ID: s.ID, Version: "3", Zip: upload("throw new Error('bad')")})
		if bad.Loading || len(bad.Refused) != 1 {
			t.Errorf("the update that does not run is %+v", bad)
		}
		asked(c, 0, messages.DeleteFleet{ID: f.ID})
		time.Sleep(30 * time.Second)
		for i := range c.all {
			for _, fleet := range asked(c, i, messages.FleetQuery{}) {
				if fleet.ID == f.ID {
					assert.Equal(c, "status", fleet.Status, messages.FleetTerminated)
				}
			}
		}
	})
}

// The leader drains: another one leads within a second, and goes on with what waits.
func TestALeaderDrains(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		leader, next := 0, 0
		for i, h := range c.all {
			if h.node.self.View().Leads {
				leader, next = i, (i+1)%3
			}
		}
		for range 15 {
			c.create(next)
		}
		asked(c, next, messages.StartPlacement{ID: "waits", Queue: "queue-dev", MaxPlayers: 2})
		time.Sleep(time.Second)
		go c.all[leader].Drain(c.Context())
		time.Sleep(time.Second)
		if v := c.all[next].node.self.View(); v.Leader == "" || v.Leader == c.all[leader].node.name {
			t.Errorf("node %q leads", v.Leader)
		}
		time.Sleep(10 * time.Second)
		assert.Equal(c, "placement", c.ends(next, "waits"), messages.PlacementPending)
		all := asked(c, next, messages.FindGameSessions{Status: messages.GameSessionActive}).GameSessions
		assert.Equal(c, "game sessions of the others", len(all), 10)
		asked(c, next, messages.TerminateGameSession{GameSessionID: all[0].ID, Force: true})
		time.Sleep(time.Second) // hosts tell their room every second, and a pass just before that is followed by one a second later
		assert.Equal(c, "placement", c.ends(next, "waits"), messages.PlacementFulfilled)
	})
}

// CL-101, in part: a host that is killed and started again does not wait until the lease of its former process has
// expired, because its store knows the lease.
func TestAHostThatWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		coordinator := clustertest.NewStore()
		t.Cleanup(coordinator.Close)
		network := memory(t)
		o := Options{Config: config(t), Network: network}
		o.Config.Store = Store{Path: filepath.Join(t.TempDir(), "store.db")}
		o.Config.Cluster.Name, o.Config.Cluster.Node = "test", "node"
		o.Config.Cluster.Etcd.Endpoints, o.Config.Cluster.Peers.Addr = []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
		killed := coordinator.Client()
		o.Coordinator = killed
		h := begin(t, o)
		time.Sleep(time.Second)
		killed.SetFaults(clustertest.Faults{Requests: true}) // it ends without a word to the coordinator
		h.Close()
		found, err := coordinator.Client().Read(t.Context(), coord.Query{Key: coord.KeysOf("test").Node("node")})
		if err != nil || len(found.KVs) != 1 {
			t.Fatalf("the registration of the killed process: %v, %v", found.KVs, err)
		}
		o.Coordinator = coordinator.Client()
		at := time.Now()
		begin(t, o)
		if took := time.Since(at); took > 500*time.Millisecond {
			t.Errorf("the start takes %v", took)
		}
	})
}

// CL-111, in part: while the coordinator is away, running games are not affected, and what needs it is refused.
func TestWithoutACoordinator(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		var games []messages.GameSessionID
		for i := range 9 {
			games = append(games, c.create(i%3).ID)
		}
		time.Sleep(2 * time.Second)
		c.coordinator.SetAway(true)
		time.Sleep(20 * time.Second)
		for i := range 3 {
			assert.Equal(c, "found", asked(c, i, messages.FindGameSessions{Status: messages.GameSessionActive}).Matched, 9)
			for _, id := range games {
				asked(c, i, messages.CreatePlayerSessions{GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(fmt.Sprint("p", i))}}})
			}
			c.refused(i, messages.Internal, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
			c.refused(i, messages.Internal, messages.CreateAlias{Name: "a", FleetID: "fleet-dev"})
		}
		time.Sleep(30 * time.Second)
		c.coordinator.SetAway(false)
		time.Sleep(10 * time.Second)
		for i := range 3 {
			a := asked(c, i, messages.CreateAlias{Name: "b", FleetID: "fleet-dev"})
			assert.Equal(c, "alias", asked(c, 0, messages.AliasQuery{ID: a.ID})[0].Name, "b")
			c.create(i)
		}
		assert.Equal(c, "found", asked(c, 1, messages.FindGameSessions{Status: messages.GameSessionActive}).Matched, 12)
	})
}

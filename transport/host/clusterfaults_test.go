package host

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/transport/transporttest/memnet"
)

// CL-122: a second process of a name, a store that is in use, and the store of another cluster are refused. Each refusal
// is one line that says what to do.
func TestStartsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		c := hostsOf(t, 1, func(o *Options) { o.Config.Store = Store{Path: path} })
		refused := func(because string, change func(o *Options)) {
			o := Options{Config: config(t), Coordinator: c.coordinator.Client(), Network: c.all[0].net}
			o.Config.Cluster, o.Config.Store = c.all[0].node.config, Store{Path: path}
			change(&o)
			h, err := Start(o)
			if err == nil {
				h.Close()
			}
			if err == nil || !strings.Contains(err.Error(), because) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line with %q", err, because)
			}
		}
		refused("node node-0 runs already at 127.0.0.1:", func(o *Options) { o.Config.Store = Store{Memory: true} })
		refused("another process", func(o *Options) { o.Config.Cluster.Node = "node-1" })
		asked(c, 0, messages.FindGameSessions{}) // the first one goes on
		c.all[0].Close()
		other := clustertest.NewStore()
		t.Cleanup(other.Close)
		refused("etcd has no records of the cluster to which the store", func(o *Options) { o.Coordinator = other.Client() })
		refused("etcd has no records of the cluster to which the store", func(o *Options) { o.Config.Cluster.Name = "test2" })
	})
}

// machines starts three hosts. cut separates a host from the coordinator and from what the other hosts send it, but not
// from its players, or heals that.
func machines(t *testing.T, test func(c *hosts, cut func(i int, on bool))) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		machine := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)}) }
		hosts := 0
		c := hostsOf(t, 3, func(o *Options) {
			o.Network, o.Config.Cluster.Peers.Addr = network.Machine(), machine(hosts).String()+":0"
			hosts++
		})
		test(c, func(i int, on bool) {
			c.clients[i].SetFaults(clustertest.Faults{Requests: on})
			network.BlockTo(machine(i), on)
		})
	})
}

// CL-125: a script is updated while a node is suspect. When the node is back, it runs the new version, and its game
// sessions go on with the old one.
func TestAScriptIsUpdatedWhileANodeIsSuspect(t *testing.T) {
	machines(t, func(c *hosts, cut func(i int, on bool)) {
		s := asked(c, 0, messages.CreateScript{Name: "s", Version: "1", Zip: c.script("")})
		f := asked(c, 0, messages.CreateFleet{Name: "f", ScriptID: s.ID, Locations: []string{"us-east-1"}, Runtime: messages.RuntimeConfiguration{
			Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 2}},
		}})
		time.Sleep(5 * time.Second)
		old := map[int]*messages.GameSession{}
		for i := range 6 {
			g := asked(c, i%3, messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 2})
			old[g.Port] = g
		}
		assert.Equal(c, "hosts with game sessions", len(old), 3)
		lead := leader(c)
		away, here := (lead+1)%3, (lead+2)%3
		cut(away, true)
		time.Sleep(8 * time.Second)
		assert.Equal(c, "state", c.all[lead].node.self.View().Member(c.all[away].node.name).State, cluster.Suspect)
		if u := asked(c, here, messages.UpdateScript{ID: s.ID, Version: "2", Zip: c.script("x: 1")}); u.Loading || len(u.Refused) > 0 {
			t.Errorf("the update is %+v", u)
		}
		anew := func(i int) { // host i gets room, and a new game session
			_, port, _ := net.SplitHostPort(c.all[i].Addrs().WS)
			for p, g := range old {
				if fmt.Sprint(p) == port {
					asked(c, i, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
					delete(old, p)
				}
			}
			time.Sleep(3 * time.Second)
			g := asked(c, here, messages.CreateGameSession{FleetID: f.ID, MaxPlayers: 2})
			assert.Equal(c, "version and port of a new game session", fmt.Sprint(g.ScriptVersion, " ", g.Port), "2 (2) "+port)
		}
		anew(here)
		cut(away, false)
		time.Sleep(10 * time.Second)
		for _, g := range old {
			now := asked(c, here, messages.GameSessionQuery{ID: g.ID})
			assert.Equal(c, "version and status of an old game session", now.ScriptVersion+" "+now.Status.String(), "1 (1) ACTIVE")
		}
		anew(away)
	})
}

// CL-116, in part: while a host's store cannot write, all hosts create game sessions elsewhere. Its own games go on.
func TestAHostWhoseStoreFails(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		games := map[int]*messages.GameSession{}
		for i := range 3 {
			g := c.create(i)
			games[g.Port] = g
		}
		bad := c.all[1]
		_, port, _ := net.SplitHostPort(bad.Addrs().WS)
		bad.count.StoreFailing.Store(1)
		time.Sleep(3 * time.Second)
		for i := range 6 {
			if g := c.create(i % 3); fmt.Sprint(g.Port) == port {
				t.Errorf("game session %d is at the host whose store fails", i)
			}
		}
		for _, g := range games {
			assert.Equal(c, "status", asked(c, 0, messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionActive)
		}
		bad.count.StoreFailing.Store(0)
		time.Sleep(3 * time.Second)
		on := 0
		for i := range 6 {
			if g := c.create(i % 3); fmt.Sprint(g.Port) == port {
				on++
			}
		}
		if on == 0 {
			t.Error("the host whose store writes again gets no game session")
		}
	})
}

// A host that drains reserves no seats. Callers at all hosts are told not to try again, searches do not find its game
// sessions, lists have them, and the players play on.
func TestSeatsAtAHostThatDrains(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		g := c.create(0)
		time.Sleep(time.Second)
		owner, _ := c.owner(g)
		player, err := c.all[owner].dial(c.reserve(g, "ann"), false)
		if err != nil {
			t.Fatal(err)
		}
		go c.all[owner].Drain(c.Context())
		time.Sleep(5 * time.Second)
		for i := range c.all {
			c.refused(i, messages.InvalidGameSessionStatus, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "bob"}}})
			for open, want := range map[bool]int{true: 0, false: 1} {
				found := asked(c, i, messages.FindGameSessions{Status: messages.GameSessionActive, Open: open})
				assert.Equal(c, fmt.Sprint("found, open ", open), found.Matched, want)
			}
		}
		select {
		case <-player.Done():
			t.Error("the player has lost its game")
		default:
		}
	})
}

// The leader drains while it commits a placement, whose answer is lost. The host that was called asks the next leader,
// which knows the call, although the caller has sent no invocation id.
func TestAPlacementThatADrainingLeaderHasCommitted(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		lead := leader(c)
		c.clients[lead].SetFaults(clustertest.Faults{Answers: true})
		go func() {
			time.Sleep(500 * time.Millisecond)
			c.all[lead].Drain(c.Context())
		}()
		p := asked(c, (lead+1)%3, messages.StartPlacement{ID: "p", Queue: "queue-dev", MaxPlayers: 2})
		assert.Equal(c, "placement", p.Request.ID, "p")
		assert.Equal(c, "end", c.ends((lead+2)%3, "p"), messages.PlacementFulfilled)
	})
}

// script returns an uploaded script whose exports have a text more.
func (c *hosts) script(more string) []byte {
	zip, err := (&bundle.Bundle{Files: map[string][]byte{"main.js": []byte("exports.ssExports = {init() {}, onProcessStarted: () => true, " + strings.TrimSpace(more) + "}")}}).Zip()
	if err != nil {
		c.Fatal(err)
	}
	return zip
}

// unanswered is a coordinator that does not answer the first read of each key and the first commit that begins with it.
type unanswered struct {
	cluster.Coordinator
	mu   sync.Mutex
	seen map[string]bool
}

func (u *unanswered) first(request string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.seen[request]
	u.seen[request] = true
	return first
}

func (u *unanswered) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	if u.first("read " + q.Key) {
		return coord.Found{}, coord.ErrUnavailable
	}
	return u.Coordinator.Read(ctx, q)
}

func (u *unanswered) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	if len(changes) > 0 && u.first("commit "+changes[0].Key) {
		return false, 0, coord.ErrUnknown
	}
	return u.Coordinator.Commit(ctx, when, changes)
}

// A start waits for etcd in each of its steps, also the start of a host whose former process was killed while it had a
// game session, and which had bans when it was alone (4.1).
func TestAStartInsists(t *testing.T) {
	seeing(t, 1, func(c *hosts) {
		o := Options{Config: config(c.T), Network: c.all[0].net}
		o.Config.Store = Store{Path: filepath.Join(c.TempDir(), "store.db")}
		alone := begin(c.T, o)
		if err := alone.Ban(c.Context(), messages.Ban{Player: "eve", Until: time.Now().Add(time.Hour), By: "me"}); err != nil {
			c.Fatal(err)
		}
		alone.Close()
		for range 5 {
			c.create(0)
		}
		time.Sleep(time.Second)
		c.kill(0)
		time.Sleep(10 * time.Second)
		h := c.another(c.all[0].node.name, func(to *Options) {
			to.Config.Store = o.Config.Store
			to.Coordinator = &unanswered{Coordinator: to.Coordinator, seen: map[string]bool{}}
		})
		assert.Equal(c, "bans", banned(h), "eve by me")
		found, err := c.coordinator.Client().Read(c.Context(), coord.Query{Key: h.node.keys.Host(h.node.name), Prefix: true})
		if err != nil || len(found.KVs) > 0 {
			c.Errorf("records of the process that was killed: %v, %v", found.KVs, err)
		}
	})
}

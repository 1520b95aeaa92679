package host

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/transport/client"
)

// another starts one more host of the cluster, or one of a name that is free again.
func (c *hosts) another(name string, change func(o *Options)) *testHost {
	c.Helper()
	o := Options{Config: config(c.T), Coordinator: c.coordinator.Client(), Network: c.all[0].net}
	o.Config.Cluster.Name, o.Config.Cluster.Node = "test", name
	o.Config.Cluster.Etcd.Endpoints, o.Config.Cluster.Peers.Addr = []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
	o.Config.Fleets[0].GameSessionsMax = 5
	change(&o)
	return begin(c.T, o)
}

// banned returns the players that a host keeps out.
func banned(h *testHost) string {
	var all []string
	for _, b := range (operations{h.Host}).Bans() {
		all = append(all, fmt.Sprintf("%.9s by %s", b.Player, b.By))
	}
	return strings.Join(all, ", ")
}

// A ban is known to hosts that start after it was made, and survives the loss of the host that made it. A ban that is
// lifted while a host is away is lifted there, too.
func TestABanOutlivesHosts(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		long := messages.PlayerID(strings.Repeat("é", 1024)) // longer than a key may be
		for i, player := range []messages.PlayerID{"eve", "mallory", long} {
			if err := c.all[0].Ban(c.Context(), messages.Ban{Player: player, Until: time.Now().Add(time.Hour + time.Duration(i)), By: "me"}); err != nil {
				c.Fatal(err)
			}
		}
		c.kill(0)
		time.Sleep(30 * time.Second)
		const all = "eve by me, mallory by me, ééééééééé by me"
		assert.Equal(c, "bans of the host that is left", banned(c.all[1]), all)
		c.all[0] = c.another("node-2", func(*Options) {})
		assert.Equal(c, "bans of a host that joins", banned(c.all[0]), all)
		time.Sleep(5 * time.Second)
		for _, h := range c.all {
			for range 4 {
				g := c.create(0)
				time.Sleep(time.Second)
				owner, _ := c.owner(g)
				if _, err := c.all[owner].dial(c.reserve(g, "eve"), false); !errors.Is(err, client.ErrRefused) {
					c.Fatalf("at %s: %v", h.node.name, err)
				}
			}
		}
		c.all[1].stop(messages.CloseGoingAway)
		time.Sleep(time.Second) // the watch lag
		if status, body := c.all[0].act("DELETE", "/bans?player=eve"); status != 200 {
			c.Fatal(body)
		}
		c.all[1] = c.another("node-1", func(*Options) {})
		assert.Equal(c, "bans of a host that was away", banned(c.all[1]), "mallory by me, ééééééééé by me")
		for _, want := range []int{http.StatusOK, http.StatusNotFound} {
			if status, body := c.all[1].act("DELETE", "/bans?player=mallory&node=node-2"); status != want {
				c.Errorf("%d %s", status, body)
			}
		}
		for _, h := range c.all {
			assert.Equal(c, "bans at "+h.node.name, banned(h), "ééééééééé by me")
		}
	})
}

// A host that was alone gives its bans to the cluster once. A ban of the cluster has precedence.
func TestAHostBringsItsBans(t *testing.T) {
	seeing(t, 1, func(c *hosts) {
		o := Options{Config: config(c.T), Network: c.all[0].net}
		o.Config.Store = Store{Path: filepath.Join(c.TempDir(), "store.db")}
		alone := begin(c.T, o)
		for i := range bansAtOnce + 1 {
			b := messages.Ban{Player: messages.PlayerID(fmt.Sprintf("player-%02d", i)), Until: time.Now().Add(time.Hour), By: "it"}
			if err := alone.Ban(c.Context(), b); err != nil {
				c.Fatal(err)
			}
		}
		alone.Close()
		if err := c.all[0].Ban(c.Context(), messages.Ban{Player: "player-00", Until: time.Now().Add(time.Minute), By: "me"}); err != nil {
			c.Fatal(err)
		}
		member := func(to *Options) { to.Config.Store = o.Config.Store }
		h := c.another("node-1", member)
		time.Sleep(time.Second) // the watch lag
		for _, h := range []*testHost{h, c.all[0]} {
			assert.Equal(c, "bans", len((operations{h.Host}).Bans()), bansAtOnce+1)
			if all := banned(h); !strings.HasPrefix(all, "player-00 by me, player-01 by it, ") {
				c.Error(all)
			}
		}
		if there, err := c.all[0].LiftBan(c.Context(), "player-01"); !there || err != nil {
			c.Fatal(there, err)
		}
		h.Close()
		h = c.another("node-1", member)
		assert.Equal(c, "bans after it has started again", len((operations{h.Host}).Bans()), bansAtOnce)
	})
}

// slowStore is a store that commits late.
type slowStore struct{ store.Store }

func (s slowStore) Commit(changes []store.Change, done func(error)) {
	time.AfterFunc(3*time.Second, func() { s.Store.Commit(changes, done) })
}

// A host has deleted its own bans when it is ready. A crash after that brings no ban back that was lifted meanwhile.
func TestAHostDeletesItsBansBeforeItIsReady(t *testing.T) {
	seeing(t, 1, func(c *hosts) {
		n := c.all[0].node
		n.host.store, n.formerBans = slowStore{n.host.store}, []messages.Ban{{Player: "eve", Until: time.Now().Add(time.Hour), By: "it"}}
		began := time.Now()
		if err := n.shareBans(); err != nil {
			c.Fatal(err)
		}
		assert.Equal(c, "time until its own bans are deleted", time.Since(began), 3*time.Second)
		assert.Equal(c, "bans", banned(c.all[0]), "eve by it")
	})
}

// Without etcd, bans stay in force and cannot be changed.
func TestBansWithoutEtcd(t *testing.T) {
	seeing(t, 2, func(c *hosts) {
		ban := func(player messages.PlayerID) error {
			return c.all[0].Ban(c.Context(), messages.Ban{Player: player, Until: time.Now().Add(time.Hour), By: "me"})
		}
		if err := ban("eve"); err != nil {
			c.Fatal(err)
		}
		time.Sleep(time.Second)
		c.coordinator.SetAway(true)
		at := time.Now()
		if err := ban("mallory"); !errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
			c.Errorf("a ban: %v", err)
		}
		if took := time.Since(at); took > banChangeMax {
			c.Errorf("refused after %v", took)
		}
		if _, err := c.all[1].LiftBan(c.Context(), "eve"); !errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
			c.Errorf("a lift: %v", err)
		}
		for _, h := range c.all {
			assert.Equal(c, "bans", banned(h), "eve by me")
		}
		c.coordinator.SetAway(false)
		time.Sleep(10 * time.Second)
		if err := ban("mallory"); err != nil {
			c.Error(err)
		}
	})
}

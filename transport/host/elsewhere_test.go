package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
	"troupe/transport/client"
	"troupe/transport/transporttest/stock"
)

// reserve reserves a seat in a game session and returns its id.
func (c *hosts) reserve(g *messages.GameSession, player string) string {
	c.Helper()
	s := asked(c, 0, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(player)}}})
	return string(s[0].ID)
}

// owner returns the index of the host that runs a game session, and that of another one.
func (c *hosts) owner(g *messages.GameSession) (owner, other int) {
	for i, h := range c.all {
		if strings.HasSuffix(h.Addrs().WS, fmt.Sprint(":", g.Port)) {
			return i, (i + 1) % len(c.all)
		}
	}
	c.Fatalf("no host has port %d", g.Port)
	return 0, 0
}

// options returns the options of a player that connects to the i-th host. It counts the connections.
func (c *hosts) options(i int, id string, dials *atomic.Int64) client.Options {
	machine := c.all[i].net
	return client.Options{
		Addr: c.all[i].Addrs().WS, PlayerSessionID: id,
		DialContext: func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
			dials.Add(1)
			return machine.Dial(ctx, network, local, address)
		},
	}
}

// kill makes a host vanish: from now on it cannot reach the coordinator, and nobody listens at its addresses.
func (c *hosts) kill(i int) {
	c.clients[i].SetFaults(clustertest.Faults{Requests: true})
	c.all[i].stop(messages.CloseInternalError)
}

// CL-25, without relays: a player at the wrong host is sent to the right one, and needs one more connection. A stock
// client is refused. An id that nobody knows costs one read.
func TestALoginAtAnotherHost(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		g := c.create(0)
		time.Sleep(time.Second)
		owner, other := c.owner(g)
		id := c.reserve(g, "ann")
		if tag, ok := coord.TagIn(messages.PlayerSessionID(id)); !ok || tag != coord.TagOf(g.ID) {
			c.Errorf("player session %s has the tag %q", id, tag)
		}
		var dials atomic.Int64
		p, err := client.Dial(c.Context(), c.options(other, id, &dials))
		if err != nil {
			c.Fatal(err)
		}
		defer p.Close()
		assert.Equal(c, "connections", dials.Load(), 2)
		assert.Equal(c, "redirects", c.all[other].count.LoginsRefused.Get(counters.LoginMoved), 1)
		assert.Equal(c, "players of the owner", c.all[owner].count.Logins.Get(counters.LoginNew), 1)
		if p, err := stock.Dial(c.Context(), c.all[other].Addrs().WS, c.reserve(g, "bob"), stock.Options{Network: c.all[other].net, NoUDP: true}); err == nil {
			p.Close()
			time.Sleep(time.Second)
		}
		assert.Equal(c, "players of the owner", c.all[owner].count.Logins.Get(counters.LoginNew), 1)
		assert.Equal(c, "logins refused", c.all[other].count.LoginsRefused.Get(counters.LoginOtherReason), 1)
		assert.Equal(c, "redirects", c.all[other].count.LoginsRefused.Get(counters.LoginMoved), 1)
		reads, old := new(countReads), c.all[other].node.directory
		reads.Coordinator = c.all[other].node.coordinator
		c.all[other].node.directory = cluster.NewDirectory(cluster.DirectoryOptions{
			Coordinator: reads, Keys: c.all[other].node.keys, Node: c.all[other].node.name, Incarnation: func() int64 { return 0 }, Count: c.all[other].count,
		})
		defer func() {
			c.all[other].node.directory.Close()
			c.all[other].node.directory = old
		}()
		unknown := "psess-01234567-89ab-cdef-0123-456789abcdef-abcdefghijklmnop"
		if at := c.all[other].node.elsewhere(messages.PlayerSessionID(unknown)); at.RetryAfter == 0 || at.Over != 0 {
			c.Errorf("while nodes register: %+v", at)
		}
		time.Sleep(rebuildMax)
		reads.n.Store(0)
		for _, id := range []string{unknown, unknown, "psess-01234567-89ab-cdef-0123-456789abcdef", "x"} {
			_, err := client.Dial(c.Context(), c.options(other, id, &dials))
			if !errors.Is(err, client.ErrGameOver) || !errors.Is(err, client.ErrRefused) {
				c.Errorf("%s: %v", id, err)
			}
		}
		assert.Equal(c, "reads", reads.n.Load(), 1)
	})
}

type countReads struct {
	cluster.Coordinator
	n atomic.Int64
}

func (c *countReads) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	c.n.Add(1)
	return c.Coordinator.Read(ctx, q)
}

// CL-14, what players see: the host of a game is lost, and another host says so.
func TestAPlayerOfALostHost(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		g := c.create(0)
		time.Sleep(time.Second)
		owner, other := c.owner(g)
		var dials atomic.Int64
		p, err := client.Dial(c.Context(), c.options(owner, c.reserve(g, "ann"), &dials))
		if err != nil {
			c.Fatal(err)
		}
		go func() {
			for range p.Events() {
			}
		}()
		killed := time.Now()
		c.kill(owner)
		<-p.Done()
		if err := p.End().Err; !errors.Is(err, client.ErrGameOver) || !strings.Contains(err.Error(), "the host of the game session was lost") {
			c.Errorf("the end is %v", p.End())
		}
		if d := time.Since(killed); d > 20*time.Second {
			c.Errorf("told after %v", d)
		}
		if got := asked(c, other, messages.GameSessionQuery{ID: g.ID}).Status; got != messages.GameSessionTerminated {
			c.Errorf("the game session is %v", got)
		}
	})
}

// While the directory may be incomplete, a login at another host does not end a client for good: before this host has
// registered again after an outage of etcd, and when another host is still writing its records. An absence that was read
// in that time is read again afterwards.
func TestALoginWhileTheDirectoryIsIncomplete(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		g := c.create(0)
		time.Sleep(rebuildMax)
		owner, other := c.owner(g)
		if other == 0 { // the host that reserves the seat has cached the owner
			other = 1
		}
		id := messages.PlayerSessionID(c.reserve(g, "ann"))
		node, etcd, tag := c.all[other].node, c.coordinator.Client(), coord.TagOf(g.ID)
		found, err := etcd.Read(c.Context(), coord.Query{Key: node.keys.Game(tag)})
		if err != nil || len(found.KVs) != 1 {
			c.Fatal(found.KVs, err)
		}
		change := func(change coord.Change) {
			if _, _, err := etcd.Commit(c.Context(), nil, []coord.Change{change}); err != nil {
				c.Fatal(err)
			}
		}
		record := coord.Put(node.keys.Game(tag), found.KVs[0].Value)
		later := func(when string) {
			if at := node.elsewhere(id); at.RetryAfter == 0 || at.Over != 0 {
				c.Errorf("%s: %+v", when, at)
			}
		}

		c.coordinator.SetAway(true)
		time.Sleep(10 * time.Second)
		c.coordinator.SetAway(false)
		change(coord.Delete(node.keys.Game(tag)))
		later("before a host has registered")
		change(record)
		time.Sleep(rebuildMax + cluster.AbsentFor)

		c.another("node-3", func(*Options) {})
		change(coord.Delete(node.keys.Game(tag)))
		time.Sleep(rebuildMax - 2*time.Second)
		later("while a host writes its records")
		change(record)
		time.Sleep(3 * time.Second)
		if at := node.elsewhere(id); at.Endpoints != c.all[owner].node.self.View().Self.Players {
			c.Errorf("after that: %+v", at)
		}
	})
}

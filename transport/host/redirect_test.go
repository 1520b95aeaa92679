package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/client"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

var stormPlayers = flag.Int("storm.players", 300, "players that are cut and redirected at once")

// balanced is the address of a load balancer, behind which a test puts any host.
const balanced = "127.0.0.1:7"

// balancer leads the connections of players to a host.
type balancer struct {
	*hosts
	to    atomic.Int64 // index of the host
	stray atomic.Bool  // whether the next connection goes to that host, whatever its address
	dials atomic.Int64 // connections of players, to the balancer or to a host
	roots *x509.CertPool
	net   *memnet.Network
}

// options returns the options of a player who knows only the balancer's address.
func (b *balancer) options(id string, over client.Transport) client.Options {
	machine := b.all[0].net
	return client.Options{
		Addr: balanced, KCPAddr: balanced, PlayerSessionID: id, Transport: over, TLS: &tls.Config{RootCAs: b.roots, ServerName: "localhost"},
		DialContext: func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
			b.dials.Add(1)
			if b.stray.CompareAndSwap(true, false) || address == balanced {
				a := b.all[b.to.Load()].Addrs()
				switch {
				case strings.HasPrefix(network, "udp"):
					address = a.KCP
				case over == client.WS:
					address = a.WS
				default:
					address = a.WSS
				}
			}
			return machine.Dial(ctx, network, local, address)
		},
	}
}

// balance starts three hosts with all transports of players behind a balancer. Their network takes a while.
func balance(t *testing.T, delay time.Duration, change func(o *Options)) *balancer {
	dir := t.TempDir()
	network := memnet.New(1)
	network.SetAll(memnet.Condition{Delay: delay})
	t.Cleanup(func() {
		network.Close()
		time.Sleep(time.Minute) // lets sleeping goroutines of libraries end
	})
	b := &balancer{hosts: hostsOf(t, 3, func(o *Options) {
		o.Network = network.Machine()
		c := &o.Config
		c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr, c.TLS.Dir = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", dir
		l := &c.Limits
		l.UnauthenticatedPerIP, l.ConnectionsPerIPPerSecond, l.LoginFailuresPerIPPerMinute = 0, 0, 0
		l.LoginsPerPlayerSessionPerMinute, l.ResumesPerPlayerSessionPerMinute = 0, 0
		change(o)
	}), roots: x509.NewCertPool(), net: network}
	pem, err := os.ReadFile(b.all[0].Addrs().CA)
	if err != nil || !b.roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	return b
}

// A player is redirected over each transport, stays with it, and comes back to the right host at once.
func TestRedirectsOverEachTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := balance(t, 0, func(*Options) {})
		for _, over := range []client.Transport{client.WS, client.WSS, client.KCP, client.Auto} {
			g := b.create(0)
			time.Sleep(time.Second)
			owner, other := b.owner(g)
			b.to.Store(int64(other))
			b.dials.Store(0)
			logins := b.all[owner].count.Logins.Get(counters.LoginNew)
			p, err := client.Dial(t.Context(), b.options(b.reserve(g, "ann"), over))
			if err != nil {
				t.Fatalf("%v: %v", over, err)
			}
			want := over
			if over == client.Auto {
				want = client.KCP
			}
			assert.Equal(t, "transport", p.Transport(), want)
			assert.Equal(t, fmt.Sprint("connections over ", over), b.dials.Load(), 2)
			assert.Equal(t, "logins at the owner", b.all[owner].count.Logins.Get(counters.LoginNew)-logins, 1)
			p.Outage(0)
			for e := range p.Events() {
				if e.Kind == client.EventReconnected {
					break
				}
			}
			assert.Equal(t, fmt.Sprint("connections over ", over, " after an outage"), b.dials.Load(), 3)
			p.Close()
		}
	})
}

// stream is the numbered messages that a player gets.
type stream struct {
	name string
	next uint32
}

func (s *stream) take(e *client.Event) error {
	switch {
	case e.Kind == client.EventGap:
		return fmt.Errorf("%s has lost %d messages", s.name, e.Gap.Lost)
	case e.Kind != client.EventMessage:
		return nil
	}
	if n := binary.LittleEndian.Uint32(e.Payload); n != s.next {
		return fmt.Errorf("%s gets message %d after %d", s.name, n, s.next)
	}
	s.next++
	return nil
}

// RL-1 across redirects: a player loses its connection again and again with messages in flight in both directions, comes
// back at a wrong host, and is redirected. No message is lost, and none comes twice or out of order.
func TestReliableMessagesAcrossRedirects(t *testing.T) {
	const messagesEach, cuts = 1000, 15
	replayed := uint64(0)
	for _, over := range []client.Transport{client.WS, client.WSS, client.KCP} {
		synctest.Test(t, func(t *testing.T) {
			b := balance(t, 20*time.Millisecond, func(*Options) {})
			g := b.create(0)
			time.Sleep(time.Second)
			owner, _ := b.owner(g)
			b.to.Store(int64(owner))
			var players [2]*client.Client
			var err error
			for i, name := range []string{"ann", "bob"} {
				if players[i], err = client.Dial(t.Context(), b.options(b.reserve(g, name), over)); err != nil {
					t.Fatal(err)
				}
			}
			var work sync.WaitGroup
			for i, p := range players {
				peer := players[1-i].PeerID()
				work.Go(func() {
					for n := range uint32(messagesEach) {
						if err := p.Send(t.Context(), client.Message{OpCode: 7, TargetPlayer: peer, Payload: binary.LittleEndian.AppendUint32(nil, n)}); err != nil {
							t.Errorf("%v: %v", over, err)
							return
						}
						time.Sleep(10 * time.Millisecond)
					}
				})
				work.Go(func() {
					s := &stream{name: fmt.Sprint("player ", i, " over ", over)}
					for s.next < messagesEach {
						e, open := <-p.Events()
						if !open {
							t.Errorf("%s: %v", s.name, p.End())
							return
						}
						if err := s.take(&e); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			var moved int64
			for n := range cuts {
				time.Sleep(time.Duration(300+rand.IntN(300)) * time.Millisecond)
				b.to.Store(int64((owner + 1 + n%2) % 3))
				b.stray.Store(true)
				b.net.BlockAll(true) // what is in flight is lost with the connection
				time.Sleep(30 * time.Millisecond)
				players[0].Outage(0)
				b.net.BlockAll(false)
			}
			work.Wait()
			for _, h := range b.all {
				moved += h.count.LoginsRefused.Get(counters.LoginMoved)
			}
			if moved < cuts {
				t.Errorf("%v: %d redirects", over, moved)
			}
			replayed += players[0].Stats().Replayed
			for _, p := range players {
				p.Close()
			}
		})
	}
	if replayed == 0 {
		t.Error("no message was sent again: that tries nothing")
	}
}

// CL-25, the second row of 8.2: while nobody knows whether the owner of a game session lives, its players are asked to
// come again: stock clients by 4011, own clients by a time. When the owner is back, they are let in.
func TestALoginWhileTheOwnerIsSuspect(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		var g *messages.GameSession
		var owner, other int
		for owner = leader(c); owner == leader(c); owner, other = c.owner(g) {
			g = c.create(0)
			time.Sleep(time.Second)
		}
		ann, bob := c.reserve(g, "ann"), c.reserve(g, "bob")
		c.clients[owner].SetFaults(clustertest.Faults{Requests: true})
		peers := c.all[owner].node.listener.Addr().String()
		c.all[owner].node.server.Close()
		silent, err := c.all[owner].net.Listen("tcp", peers) // nothing accepts its connections
		if err != nil {
			c.Fatal(err)
		}
		defer silent.Close()
		time.Sleep(10 * time.Second) // its lease is over; it would be reaped after reapAfter
		if state := c.nodes(other)[c.all[owner].node.name].State; state != "suspect" {
			c.Fatalf("the owner is %s", state)
		}
		p, err := stock.Dial(c.Context(), c.all[other].Addrs().WS, bob, stock.Options{Network: c.all[other].net, NoUDP: true})
		if err != nil {
			c.Fatal(err)
		}
		if err := p.AwaitClose(c.Context()); err != nil {
			c.Fatal(err)
		}
		if code, reason, ok := p.CloseStatus(); !ok || code != int(messages.CloseTryLater) {
			c.Errorf("a stock client gets %d %q", code, reason)
		}
		heal := time.AfterFunc(5*time.Second, func() { c.clients[owner].SetFaults(clustertest.Faults{}) })
		defer heal.Stop()
		var dials atomic.Int64
		at := time.Now()
		player, err := client.Dial(c.Context(), c.options(other, ann, &dials))
		if err != nil {
			c.Fatal(err)
		}
		if took := time.Since(at); took < 5*time.Second || took > 11*time.Second {
			c.Errorf("let in after %v", took)
		}
		if n := dials.Load(); n < 3 || n > 6 {
			c.Errorf("%d connections", n)
		}
		player.Close()
		assert.Equal(c, "status", asked(c, owner, messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionActive)
	})
}

// CL-123, what a cluster without moves does: all players of all hosts lose their connections at once, with messages in flight,
// come back at a wrong host, and are redirected. All are back within 15 s, and nothing reliable is lost. -storm.players=5000 is
// the whole check.
func TestAStormOfRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perGame, each = 200, 20
		b := balance(t, 5*time.Millisecond, func(o *Options) { o.Config.Fleets[0].GameSessionsMax = 20 })
		players := make([]*client.Client, *stormPlayers)
		at := make([]int, len(players)) // the host of each player's game session
		var g *messages.GameSession
		for i := range players {
			if i%perGame == 0 {
				g = asked(b.hosts, i%3, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: perGame})
				time.Sleep(time.Second)
			}
			at[i], _ = b.owner(g)
			b.to.Store(int64(at[i]))
			var err error
			if players[i], err = client.Dial(t.Context(), b.options(b.reserve(g, fmt.Sprint("p", i)), client.WS)); err != nil {
				t.Fatal(err)
			}
		}
		var before, during, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var work sync.WaitGroup
		var back atomic.Int64
		var last atomic.Int64
		cut := make(chan struct{})
		for i, p := range players {
			work.Go(func() {
				for n := range uint32(each) {
					if n == each/2 {
						<-cut
						p.Outage(0)
					}
					if err := p.Send(t.Context(), client.Message{OpCode: 7, TargetPlayer: p.PeerID(), Payload: binary.LittleEndian.AppendUint32(nil, n)}); err != nil {
						t.Errorf("player %d: %v", i, err)
						return
					}
				}
			})
			work.Go(func() {
				s := &stream{name: fmt.Sprint("player ", i)}
				for reconnected := false; s.next < each || !reconnected; {
					e, open := <-p.Events()
					if !open {
						t.Errorf("player %d: %v", i, p.End())
						return
					}
					if e.Kind == client.EventReconnected {
						reconnected = true
						back.Add(1)
						last.Store(time.Now().UnixNano())
					}
					if err := s.take(&e); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		counts := make([]int, len(b.all))
		for _, owner := range at {
			counts[owner]++
		}
		to := slices.Index(counts, slices.Min(counts))
		wrong := len(players) - counts[to]
		b.to.Store(int64(to))
		begun := time.Now()
		close(cut)
		time.Sleep(100 * time.Millisecond)
		runtime.ReadMemStats(&during)
		work.Wait()
		took := time.Unix(0, last.Load()).Sub(begun)
		runtime.GC()
		runtime.ReadMemStats(&after)
		moved := b.all[to].count.LoginsRefused.Get(counters.LoginMoved)
		t.Logf("%d players are back after %v, %d of them redirected (%d redirects); the heap has %d MiB before, %d in the storm, %d after it",
			back.Load(), took, wrong, moved, before.HeapAlloc>>20, during.HeapAlloc>>20, after.HeapAlloc>>20)
		assert.Equal(t, "players that are back", back.Load(), int64(len(players)))
		if took > 15*time.Second {
			t.Errorf("the last one is back after %v", took)
		}
		if moved < int64(wrong) {
			t.Errorf("%d redirects of %d players", moved, wrong)
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, "connections that are left at the host that redirects", b.all[to].count.Connections.Total(), int64(counts[to]))
		for _, p := range players {
			p.Abort()
		}
	})
}

package host

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport/client"
)

// CL-101 to CL-104, CL-111: what happens to a host or to the coordinator delays no message in the game sessions of other
// hosts, which answer calls meanwhile. In virtual time a message takes none, unless it waits for something.
func TestAFaultElsewhereDelaysNoMessage(t *testing.T) {
	faults := map[string]func(c *hosts, cut func(i int, on bool), i int) (heal func()){
		"the host is killed": func(c *hosts, _ func(int, bool), i int) func() { c.kill(i); return func() {} },
		"the host is cut off": func(_ *hosts, cut func(int, bool), i int) func() {
			cut(i, true)
			return func() { cut(i, false) }
		},
		"etcd is away": func(c *hosts, _ func(int, bool), _ int) func() {
			c.coordinator.SetAway(true)
			return func() { c.coordinator.SetAway(false) }
		},
	}
	for name, fault := range faults {
		for _, leads := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, leads %v", name, leads), func(t *testing.T) {
				machines(t, func(c *hosts, cut func(int, bool)) {
					at := leader(c)
					if !leads {
						at = (at + 1) % 3
					}
					var pairs []*pair
					for i := range 12 { // a host has room for five
						if owner, g := c.createAt(i % 3); owner != at {
							pairs = append(pairs, c.pair(owner, g))
						}
					}
					if len(pairs) < 6 {
						t.Fatalf("%d game sessions at other hosts", len(pairs))
					}
					var work sync.WaitGroup
					defer work.Wait()
					heal := func() {}
					for n := range 400 { // 40 s
						switch n {
						case 50:
							heal = fault(c, cut, at)
						case 300:
							heal()
						}
						if n%10 == 0 {
							for i := range 3 {
								if i == at {
									continue
								}
								for _, q := range []messages.Request{
									messages.FindGameSessions{}, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 2},
									messages.StartPlacement{ID: messages.PlacementID(fmt.Sprint("p", n, i)), Queue: "queue-dev", MaxPlayers: 2},
									messages.GameSessionQuery{ID: pairs[n/10%len(pairs)].game},
								} {
									work.Go(func() { _, _ = c.all[i].Doer().Do(c.Context(), q) })
								}
							}
						}
						for _, p := range pairs {
							p.says(t, n)
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
			})
		}
	}
}

// createAt creates a game session at the i-th host, and returns the host that runs it.
func (c *hosts) createAt(i int) (owner int, g *messages.GameSession) {
	c.Helper()
	g = c.create(i)
	owner, _ = c.owner(g)
	return owner, g
}

// pair is two players of a game session.
type pair struct {
	game     messages.GameSessionID
	from, to *client.Client
}

func (c *hosts) pair(owner int, g *messages.GameSession) *pair {
	c.Helper()
	p := &pair{game: g.ID}
	for i, player := range []**client.Client{&p.from, &p.to} {
		var err error
		if *player, err = c.all[owner].dial(c.reserve(g, fmt.Sprint("p", i)), false); err != nil {
			c.Fatal(err)
		}
	}
	return p
}

// says has one player say something to the other, which must hear it at the same moment.
func (p *pair) says(t *testing.T, n int) {
	t.Helper()
	sent := time.Now()
	if err := p.from.Send(t.Context(), client.Message{OpCode: 7, TargetPlayer: p.to.PeerID(), Payload: fmt.Append(nil, n)}); err != nil {
		t.Fatal(err)
	}
	for {
		e, open := <-p.to.Events()
		if !open {
			t.Fatalf("message %d of %s: %v", n, p.game, p.to.End())
		}
		if e.Kind != client.EventMessage {
			continue
		}
		if took := time.Since(sent); took > 0 || string(e.Payload) != fmt.Sprint(n) {
			t.Fatalf("message %d of %s is %q after %v", n, p.game, e.Payload, took)
		}
		return
	}
}

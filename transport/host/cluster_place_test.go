package host

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
)

// watchPlacements asks all hosts again and again for placements, until the test ends. What one host has said about a
// placement, no host takes back: its status never steps back, and once it has ended, all say the same (CL-13). While no
// host leads, and at a host that does not reach the coordinator, the answer is InternalServiceException.
func (c *hosts) watchPlacements(ids ...messages.PlacementID) {
	var ended sync.Map // by id: the record of a placement that has ended
	for host := range c.all {
		for _, id := range ids {
			go func() {
				for ; c.Context().Err() == nil; time.Sleep(100 * time.Millisecond) {
					before, over := ended.Load(id)
					p, err := messages.Do(c.Context(), c.all[host].Doer(), messages.PlacementQuery{ID: id})
					switch {
					case c.Context().Err() != nil:
					case err != nil && !errors.Is(err, &messages.Error{Code: messages.Internal}):
						c.Errorf("host %d, placement %s: %v", host, id, err)
					case err != nil:
					case !over && p.Status != messages.PlacementPending:
						ended.Store(id, string(coord.Encode(p)))
					case over && string(coord.Encode(p)) != before:
						c.Errorf("at %v host %d says that placement %s is %s, and it was said to be %s", time.Now(), host, id, coord.Encode(p), before)
						return
					}
				}
			}()
		}
	}
}

// CL-13 and CL-15. Placements wait for room when the leader is lost. They keep their time of start: some get the room that
// becomes free later, the others time out when they would have. A leader that was only cut off from the coordinator
// answers nothing that is no longer true. Each placement has one event.
func TestALeaderIsLostWhilePlacementsWait(t *testing.T) {
	for _, cutOff := range []bool{true, false} {
		t.Run(fmt.Sprint("cut off ", cutOff), func(t *testing.T) {
			eventfulHosts(t, func(c *eventful) {
				arn := asked(c.hosts, 0, messages.QueueQuery{})[0].Destinations
				asked(c.hosts, 1, messages.CreateQueue{Queue: messages.Queue{Name: "short", Destinations: arn, Timeout: 40 * time.Second}})
				var games []*messages.GameSession
				for i := range 15 {
					games = append(games, c.create(i%3))
				}
				time.Sleep(2 * time.Second)
				lost := leader(c.hosts)
				others := []int{(lost + 1) % 3, (lost + 2) % 3}
				var ids []messages.PlacementID
				started := map[messages.PlacementID]time.Time{}
				for i, queue := range []messages.QueueName{"short", "queue-dev", "short", "queue-dev"} {
					id := messages.PlacementID(fmt.Sprint("p", i))
					started[id] = asked(c.hosts, i%3, messages.StartPlacement{ID: id, Queue: queue, MaxPlayers: 2}).Started
					ids = append(ids, id)
					time.Sleep(time.Second)
				}
				c.watchPlacements(ids...)
				if cutOff {
					c.clients[lost].SetFaults(silence)
				} else {
					c.kill(lost)
				}
				time.Sleep(15 * time.Second)
				for _, host := range others {
					for _, id := range ids {
						p := asked(c.hosts, host, messages.PlacementQuery{ID: id})
						if p.Status != messages.PlacementPending || !p.Started.Equal(started[id]) {
							c.Errorf("host %d: placement %s is %v since %v", host, id, p.Status, p.Started)
						}
					}
				}
				asked(c.hosts, others[0], messages.StopPlacement{ID: ids[3]})
				time.Sleep(30 * time.Second)
				for _, id := range []messages.PlacementID{ids[0], ids[2]} {
					p := asked(c.hosts, others[1], messages.PlacementQuery{ID: id})
					if waited := p.Ended.Sub(p.Started); p.Status != messages.PlacementTimedOut || waited < 40*time.Second || waited > 41*time.Second {
						c.Errorf("placement %s is %v after %v", id, p.Status, waited)
					}
				}
				for _, g := range games {
					if owner, _ := c.owner(g); owner != lost {
						asked(c.hosts, others[0], messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
						break
					}
				}
				assert.Equal(c.hosts, "placement that got the room", c.ends(others[1], ids[1]), messages.PlacementFulfilled)
				c.clients[lost].SetFaults(clustertest.Faults{})
				time.Sleep(10 * time.Second)
				for kind, n := range map[string]int{"PlacementFulfilled": 1, "PlacementTimedOut": 2, "PlacementCancelled": 1} {
					assert.Equal(c.hosts, kind, c.numberOf(kind), n)
				}
			})
		})
	}
}

// CL-9. The vectors V0 and V6 of service-api.md 3.5 with one host for each location. Each host has room for one game
// session, which another game session takes until the given second.
func TestPlacementsOverLocations(t *testing.T) {
	const roomKnown = 2500 * time.Millisecond // a host looks at its room, and writes it, once a second
	const us, eu, west = "us-east-1", "eu-west-1", "us-west-2"
	v0 := []messages.PlayerLatency{{PlayerID: "p1", Location: us, Latency: 100}, {PlayerID: "p1", Location: west, Latency: 50},
		{PlayerID: "p2", Location: us, Latency: 120}, {PlayerID: "p2", Location: west, Latency: 150}}
	v6 := []messages.PlayerLatency{{PlayerID: "p1", Location: us, Latency: 90}, {PlayerID: "p2", Location: us, Latency: 30}, {PlayerID: "p2", Location: west, Latency: 70}}
	cap0, cap6 := messages.LatencyPolicy{Max: 130, Duration: 60 * time.Second}, messages.LatencyPolicy{Max: 80, Duration: 30 * time.Second}
	tests := []struct {
		name      string
		latencies []messages.PlayerLatency
		policy    messages.LatencyPolicy
		timeout   int
		room      map[string]int // seconds by location
		want      string         // location; empty means TIMED_OUT
		wantAt    int
	}{
		{"V0 both from 0", v0, cap0, 120, map[string]int{us: 0, west: 0}, us, 0},
		{"V0 over the cap until it ends", v0, cap0, 120, map[string]int{west: 0}, west, 60},
		{"V0 another before it ends", v0, cap0, 120, map[string]int{west: 0, us: 30}, us, 30},
		{"V0 one that nobody reported", v0, cap0, 120, map[string]int{west: 0, eu: 5}, eu, 5},
		{"V0 no room", v0, cap0, 120, nil, "", 120},
		{"V6 over the cap until it ends", v6, cap6, 60, map[string]int{us: 10}, us, 30},
		{"V6 measured before not measured", v6, cap6, 60, map[string]int{west: 0, eu: 0}, west, 0},
		{"V6 a policy until the timeout", v6, messages.LatencyPolicy{Max: 80}, 60, map[string]int{us: 0}, "", 60},
	}
	synctest.Test(t, func(t *testing.T) {
		locations := []string{us, eu, west}
		c := hostsOf(t, 3, func(o *Options) {
			o.Config.Locations = []Location{{Name: eu}, {Name: west}}
			o.Config.Fleets[0].Locations = []FleetLocation{{Name: eu}, {Name: west}}
			o.Config.Fleets[0].GameSessionsMax = 1
			o.Config.Cluster.Locations = locations[:1]
			locations = locations[1:]
		})
		destinations := asked(c, 0, messages.QueueQuery{})[0].Destinations
		for i, test := range tests {
			blocks := map[string]messages.GameSessionID{}
			end := func(id messages.GameSessionID) {
				asked(c, i%3, messages.TerminateGameSession{GameSessionID: id, Force: true})
			}
			for _, l := range []string{us, eu, west} {
				if at, free := test.room[l]; !free || at > 0 {
					blocks[l] = asked(c, i%3, messages.CreateGameSession{FleetID: "fleet-dev", Location: l, MaxPlayers: 1}).ID
				}
			}
			time.Sleep(3 * time.Second) // for the loads of all
			name := messages.QueueName(fmt.Sprint("queue-", i))
			asked(c, i%3, messages.CreateQueue{Queue: messages.Queue{
				Name: name, Destinations: destinations, Timeout: time.Duration(test.timeout) * time.Second, Policies: []messages.LatencyPolicy{test.policy},
			}})
			id := messages.PlacementID(fmt.Sprint("place-", i))
			asked(c, i%3, messages.StartPlacement{ID: id, Queue: name, MaxPlayers: 2, Latencies: test.latencies})
			var got *messages.Placement
			for at := 0; got == nil && at <= test.timeout; at++ {
				for l, room := range test.room {
					if room == at && at > 0 {
						end(blocks[l])
						delete(blocks, l)
					}
				}
				time.Sleep(time.Second)
				if p := asked(c, (i+1)%3, messages.PlacementQuery{ID: id}); p.Status != messages.PlacementPending {
					got = p
				}
			}
			if got == nil {
				t.Fatalf("%s: still PENDING", test.name)
			}
			late := got.Ended.Sub(got.Started) - time.Duration(test.wantAt)*time.Second
			status := messages.PlacementFulfilled
			if test.want == "" {
				status = messages.PlacementTimedOut
			}
			if got.Location != test.want || got.Status != status || late < 0 || late > roomKnown {
				t.Errorf("%s: %v in %q, %v later than after %d s in %q", test.name, got.Status, got.Location, late, test.wantAt, test.want)
			}
			if got.Status == messages.PlacementFulfilled {
				host := map[string]int{us: 0, eu: 1, west: 2}[got.Location]
				if owner, _ := c.owner(&messages.GameSession{Port: got.Port}); owner != host {
					t.Errorf("%s: a game session in %s is at host %d", test.name, got.Location, owner)
				}
				end(got.GameSessionID)
			}
			for _, id := range blocks {
				end(id)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

func TestLocationsOfAHostAreConfigured(t *testing.T) {
	c := config(t)
	c.Cluster.Name, c.Cluster.Etcd.Endpoints, c.Cluster.Locations = "test", []string{"http://127.0.0.1:1"}, []string{c.Region, "eu-west-1"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "cluster.locations: must be region or one of locations: eu-west-1 is not") {
		t.Error(err)
	}
	c.Locations = []Location{{Name: "eu-west-1"}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// The end of all placements of a deleted queue needs several transactions.
func TestAQueueWithManyPlacementsIsDeleted(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		const placements = 120
		for i := range 15 { // no room is left
			c.create(i % 3)
		}
		time.Sleep(2 * time.Second)
		for i := range placements {
			asked(c, i%3, messages.StartPlacement{ID: messages.PlacementID(fmt.Sprint("p", i)), Queue: "queue-dev", MaxPlayers: 2})
		}
		asked(c, 1, messages.DeleteQueue{Name: "queue-dev"})
		for i := range placements {
			p := asked(c, i%3, messages.PlacementQuery{ID: messages.PlacementID(fmt.Sprint("p", i))})
			assert.Equal(c, "status", p.Status, messages.PlacementFailed)
		}
	})
}

// The share of a host follows the locations of the others, even if the hosts are the same.
func TestAHostServesAnotherLocation(t *testing.T) {
	clustered(t, 2, func(c *hosts) {
		asked(c, 0, messages.UpdateCapacity{FleetID: "fleet-dev", Desired: new(1), Min: new(0), Max: new(1)})
		time.Sleep(2 * time.Second)
		groups := func(want int) {
			c.Helper()
			uses, err := messages.Do(c.Context(), c.all[1].system, messages.FleetUseQuery{})
			if err != nil {
				c.Fatal(err)
			}
			assert.Equal(c, "groups of the second host", uses[0].Groups.Desired, want)
		}
		groups(0)
		etcd, first := c.coordinator.Client(), c.all[0].node
		found, err := etcd.Read(c.Context(), coord.Query{Key: first.keys.Node(first.name)})
		if err != nil {
			c.Fatal(err)
		}
		record, err := coord.DecodeNode(found.KVs[0])
		if err != nil {
			c.Fatal(err)
		}
		record.Locations = []string{"eu-west-1"}
		change := coord.Put(found.KVs[0].Key, coord.Encode(record))
		change.Lease = found.KVs[0].Lease
		if _, _, err := etcd.Commit(c.Context(), nil, []coord.Change{change}); err != nil {
			c.Fatal(err)
		}
		time.Sleep(time.Second)
		groups(1)
	})
}

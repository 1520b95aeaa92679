package host

import (
	"errors"
	"fmt"
	"testing"
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
	ended := map[messages.PlacementID]string{}
	for host := range c.all {
		for _, id := range ids {
			go func() {
				for ; c.Context().Err() == nil; time.Sleep(100 * time.Millisecond) {
					before := ended[id]
					p, err := messages.Do(c.Context(), c.all[host].doer(), messages.PlacementQuery{ID: id})
					switch {
					case c.Context().Err() != nil:
					case err != nil && !errors.Is(err, &messages.Error{Code: messages.Internal}):
						c.Errorf("host %d, placement %s: %v", host, id, err)
					case err != nil:
					case before == "" && p.Status != messages.PlacementPending:
						ended[id] = string(coord.Encode(p))
					case before != "" && string(coord.Encode(p)) != before:
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

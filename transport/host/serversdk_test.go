package host

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/transport/sdkclient"
)

// In a cluster a process belongs to the host whose endpoint it connected to. Its compute may have been registered at
// another, and requests about its game session may be sent to any.
func TestProcessesOfACluster(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		asked(c, 0, messages.CreateLocation{Location: messages.Location{Name: "custom-lan"}})
		fleet := asked(c, 1, messages.CreateFleet{Anywhere: true, Locations: []string{"custom-lan"}}).ID
		asked(c, 2, messages.RegisterCompute{Compute: messages.Compute{FleetID: fleet, Name: "box", Location: "custom-lan", IPAddress: "10.1.2.3"}})
		token := asked(c, 0, messages.AuthorizeCompute{FleetID: fleet, Name: "box"}).Token
		time.Sleep(time.Second)
		c.refused(0, messages.FleetCapacityExceeded, messages.CreateGameSession{FleetID: fleet, MaxPlayers: 2})
		for i := range c.all {
			p, err := sdkclient.Init(c.Context(), sdkclient.Options{
				URL: c.all[i].Addrs().ServerSDK, ProcessID: fmt.Sprint("p", i), HostID: "box", FleetID: string(fleet), AuthToken: token,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					return c.all[i].net.DialContext(ctx, network, address)
				},
				Handlers: sdkclient.Handlers{
					OnStartGameSession: func(p *sdkclient.Process, _ sdkclient.GameSession) {
						if err := p.ActivateGameSession(c.Context()); err != nil {
							c.Error(err)
						}
					},
					OnHealthCheck: func() bool { return true },
				},
			})
			if err != nil {
				c.Fatal(err)
			}
			defer p.Wait()
			defer p.Destroy()
			if err := p.Ready(c.Context(), 7000+i); err != nil {
				c.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		ports := make(map[int]bool)
		for i := range c.all {
			g := asked(c, i, messages.CreateGameSession{FleetID: fleet, MaxPlayers: 2})
			ports[g.Port] = true
			time.Sleep(2 * time.Second)
			other := (i + 1) % 3
			assert.Equal(c, "status", asked(c, other, messages.GameSessionQuery{ID: g.ID}).Status, messages.GameSessionActive)
			assert.Equal(c, "player sessions", len(asked(c, other, messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})), 1)
		}
		assert.Equal(c, "processes with a game session", len(ports), 3)
		c.refused(1, messages.FleetCapacityExceeded, messages.CreateGameSession{FleetID: fleet, MaxPlayers: 2})
	})
}

// A compute and its token are known at all hosts as soon as one of them has answered.
func TestAFreshTokenIsKnownEverywhereAtOnce(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		asked(c, 0, messages.CreateLocation{Location: messages.Location{Name: "custom-lan"}})
		fleet := asked(c, 0, messages.CreateFleet{Anywhere: true, Locations: []string{"custom-lan"}}).ID
		time.Sleep(time.Second)
		for at := range c.all {
			for _, anew := range []bool{true, false} {
				box := fmt.Sprint("box-", at)
				asker := (at + 1) % 3
				if anew {
					c.clients[at].SetFaults(clustertest.Faults{Delay: 200 * time.Millisecond})
					asked(c, asker, messages.RegisterCompute{Compute: messages.Compute{FleetID: fleet, Name: box, Location: "custom-lan", IPAddress: "10.1.2.3"}})
				} else {
					time.Sleep(16 * time.Minute) // after which there is another token
					c.clients[at].SetFaults(clustertest.Faults{Delay: 200 * time.Millisecond})
				}
				token := asked(c, asker, messages.AuthorizeCompute{FleetID: fleet, Name: box}).Token
				p, err := sdkclient.Init(c.Context(), sdkclient.Options{
					URL: c.all[at].Addrs().ServerSDK, ProcessID: fmt.Sprint("p", anew), HostID: box, FleetID: string(fleet), AuthToken: token,
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						return c.all[at].net.DialContext(ctx, network, address)
					},
				})
				if err != nil {
					c.Fatal(err)
				}
				assert.Equal(c, "attempts", p.Stats().Attempts, 1)
				p.Destroy()
				p.Wait()
				c.clients[at].SetFaults(clustertest.Faults{})
			}
		}
	})
}

// However many ask for the latest, there are ten reads in a second, and each caller is served by one that began after it asked.
func TestManyAskForTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		var reads []time.Time
		l := &latest{ctx: ctx, work: &work, synced: func(context.Context) error {
			reads = append(reads, time.Now())
			time.Sleep(10 * time.Millisecond)
			return nil
		}}
		served := 0
		for range 1100 {
			at := time.Now()
			l.then(func(err error) {
				if served++; err != nil || reads[len(reads)-1].Before(at) {
					t.Error(err, served)
				}
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if served != 1100 || len(reads) != 11 {
			t.Errorf("%d served with %d reads", served, len(reads))
		}
		at := time.Now()
		l.then(func(error) { served++ })
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if served != 1101 || time.Since(at) != 10*time.Millisecond {
			t.Errorf("%d after %v", served, time.Since(at))
		}
		cancel()
		work.Wait()
	})
}

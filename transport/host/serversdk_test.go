package host

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
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

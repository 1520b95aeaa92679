package stories

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"troupe/transport/sdkclient"
)

// SS-1, SS-43 to SS-45: the calls of Amazon's game server wrapper, and a process with each Server SDK that it could start: it
// hosts what a placement asks for, and ends when the wrapper deregisters its compute.
func TestGameServerWrapper(t *testing.T) {
	everyDriver(t, func(s teller) {
		s.ok("CreateLocation", object{"LocationName": "custom-lan"})
		fleet := s.ok("CreateFleet", object{
			"Name": "servers", "ComputeType": "ANYWHERE", "Locations": []object{{"Location": "custom-lan"}}, "AnywhereConfiguration": object{"Cost": "0.10"},
		})
		fleetID := text(fleet, "FleetAttributes.FleetId")
		s.ok("CreateGameSessionQueue", object{
			"Name": "servers", "TimeoutInSeconds": 60, "Destinations": []object{{"DestinationArn": text(fleet, "FleetAttributes.FleetArn")}},
		})
		flavors := []sdkclient.Flavor{sdkclient.Go56, sdkclient.Go54, sdkclient.Cpp, sdkclient.CSharp}
		if _, quick := s.driver.(goSDK); !quick {
			flavors = flavors[:1]
		}
		for i, flavor := range flavors {
			s.wrapped(fleetID, fmt.Sprintf("host-%d", i), flavor)
		}
	})
}

// wrapped is the life of one wrapper and its process.
func (s teller) wrapped(fleetID, compute string, flavor sdkclient.Flavor) {
	s.Helper()
	if listed := s.ok("ListCompute", object{"FleetId": fleetID}); at(listed, "ComputeList.0.ComputeName") != nil {
		s.Errorf("computes: %v", listed)
	}
	registration := object{"FleetId": fleetID, "ComputeName": compute, "IpAddress": "203.0.113.7", "Location": "custom-lan"}
	registered := s.ok("RegisterCompute", registration)
	s.refused("ConflictException", "RegisterCompute", registration)
	authorized := s.ok("GetComputeAuthToken", object{"FleetId": fleetID, "ComputeName": text(registered, "Compute.ComputeArn")})
	if at(authorized, "ExpirationTimestamp") == nil {
		s.Errorf("token: %v", authorized)
	}

	ctx := s.Context()
	started := make(chan sdkclient.GameSession, 1)
	p, err := sdkclient.Init(ctx, sdkclient.Options{
		URL: text(registered, "Compute.GameLiftServiceSdkEndpoint"), ProcessID: "process_1", HostID: compute, FleetID: fleetID, AuthToken: text(authorized, "AuthToken"),
		Flavor: flavor, Handlers: sdkclient.Handlers{
			OnHealthCheck:      func() bool { return true },
			OnStartGameSession: func(_ *sdkclient.Process, g sdkclient.GameSession) { started <- g },
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.network(ctx, network, netip.Addr{}, address)
		},
	})
	if err != nil {
		s.Fatalf("%v: %v", flavor, err)
	}
	defer p.Wait()
	defer p.Destroy()
	if err := p.Ready(ctx, 7777, "/var/log/game"); err != nil {
		s.Fatalf("%v: %v", flavor, err)
	}

	placement := "placement-" + compute
	s.ok("StartGameSessionPlacement", object{
		"PlacementId": placement, "GameSessionQueueName": "servers", "MaximumPlayerSessionCount": 2, "GameSessionName": "lan",
		"DesiredPlayerSessions": []object{{"PlayerId": "ann"}, {"PlayerId": "bob"}},
	})
	g := next(s, started, flavor, "its game session")
	if g.Name != "lan" || g.MaximumPlayerSessionCount != 2 || g.IpAddress != "203.0.113.7" || g.Port != 7777 {
		s.Errorf("%v is told %+v", flavor, g)
	}
	if err := p.ActivateGameSession(ctx); err != nil {
		s.Errorf("%v: %v", flavor, err)
	}
	placed := s.until("DescribeGameSessionPlacement", object{"PlacementId": placement}, "GameSessionPlacement.Status", "FULFILLED")
	if text(placed, "GameSessionPlacement.GameSessionArn") != g.GameSessionId || text(placed, "GameSessionPlacement.IpAddress") != "203.0.113.7" || fmt.Sprint(at(placed, "GameSessionPlacement.Port")) != "7777" {
		s.Errorf("placed: %v", placed)
	}
	var ids []string
	for i := range 2 {
		id := text(placed, fmt.Sprintf("GameSessionPlacement.PlacedPlayerSessions.%d.PlayerSessionId", i))
		ids = append(ids, id)
		if err := p.AcceptPlayerSession(ctx, id); err != nil {
			s.Errorf("%v: %v", flavor, err)
		}
	}
	var refused *sdkclient.CallError
	if err := p.AcceptPlayerSession(ctx, ids[0]); !errors.As(err, &refused) || refused.Status != 400 {
		s.Errorf("%v, a second time: %v", flavor, err)
	}
	page, err := p.DescribePlayerSessions(ctx, sdkclient.DescribePlayerSessions{GameSessionId: g.GameSessionId, PlayerSessionStatusFilter: "ACTIVE"})
	if err != nil || len(page.PlayerSessions) != 2 {
		s.Errorf("%v: %+v, %v", flavor, page, err)
	}
	for _, seat := range page.PlayerSessions {
		if !slices.Contains(ids, seat.PlayerSessionId) {
			s.Errorf("%v: %+v", flavor, seat)
		}
	}
	if err := p.RemovePlayerSession(ctx, ids[1]); err != nil {
		s.Errorf("%v: %v", flavor, err)
	}
	s.until("DescribePlayerSessions", object{"PlayerSessionId": ids[1]}, "PlayerSessions.0.Status", "COMPLETED")

	s.ok("DeregisterCompute", object{"FleetId": fleetID, "ComputeName": compute})
	ended := make(chan struct{})
	go func() { // TerminateProcess, to which the SDK answers with TerminateServerProcess, and its end
		defer close(ended)
		p.Wait()
	}()
	next(s, ended, flavor, "to end")
	s.until("DescribeGameSessions", object{"GameSessionId": g.GameSessionId}, "GameSessions.0.Status", "TERMINATED")
	s.until("DescribePlayerSessions", object{"PlayerSessionId": ids[0]}, "PlayerSessions.0.Status", "COMPLETED")
	if v := p.Violations(); len(v) > 0 {
		s.Errorf("%v: %v", flavor, v)
	}
}

// next waits for what a process tells.
func next[T any](s teller, from <-chan T, flavor sdkclient.Flavor, what string) (v T) {
	s.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		s.Fatalf("%v was not told %s", flavor, what)
	}
	return v
}

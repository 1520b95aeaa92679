package acceptance_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// fill creates n game sessions in a location of a fleet, without using the API.
func (h *testHost) fill(fleet, location string, n int) {
	h.Helper()
	for range n {
		if _, err := messages.Do(h.context(), h.host.System(), messages.CreateGameSession{
			FleetID: messages.FleetID(fleet), Location: location, MaxPlayers: 2,
		}); err != nil {
			h.Fatal(err)
		}
	}
}

// If all game sessions of a fleet end at once, for any reason, a game session of another fleet is not
// affected.
func TestTheEndOfManyGameSessionsAtOnceHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 320
		failed := make(chan string, 1)
		h := startHostWith(t, func(c *host.Config) {
			c.Locations = []host.Location{{Name: "eu-west-1"}}
			for _, id := range []string{"fleet-capacity", "fleet-location", "fleet-deleted", "fleet-drained"} {
				c.Fleets = append(c.Fleets, host.Fleet{ID: id, Name: id, GameSessionsMax: many, Certificates: "DISABLED",
					Locations: []host.FleetLocation{{Name: "eu-west-1"}}})
			}
		}, func(o *host.Options) { o.OnFailure = func(reason string) { failed <- reason } })
		players := h.players(2, stock.Options{})
		for _, test := range []struct {
			fleet, location string
			end             func(fleet, location string) error
		}{
			{"fleet-capacity", "us-east-1", func(fleet, location string) error {
				_, err := h.api.UpdateFleetCapacity(h.context(), &gamelift.UpdateFleetCapacityInput{
					FleetId: &fleet, Location: &location, DesiredInstances: aws.Int32(0), MinSize: aws.Int32(0)})
				return err
			}},
			{"fleet-location", "eu-west-1", func(fleet, location string) error {
				_, err := h.api.DeleteFleetLocations(h.context(), &gamelift.DeleteFleetLocationsInput{FleetId: &fleet, Locations: []string{location}})
				return err
			}},
			{"fleet-deleted", "us-east-1", func(fleet, _ string) error {
				_, err := h.api.DeleteFleet(h.context(), &gamelift.DeleteFleetInput{FleetId: &fleet})
				return err
			}},
		} {
			h.fill(test.fleet, test.location, many)
			if err := test.end(test.fleet, test.location); err != nil {
				t.Fatal(err)
			}
			h.until(test.fleet+" is empty", func() error {
				select {
				case reason := <-failed:
					t.Fatalf("%s: the host failed: %s", test.fleet, reason)
				default:
				}
				out, err := h.api.DescribeGameSessions(h.context(), &gamelift.DescribeGameSessionsInput{
					FleetId: &test.fleet, StatusFilter: aws.String(string(types.GameSessionStatusTerminated)), Limit: aws.Int32(1)})
				if err != nil || len(out.GameSessions) == 0 {
					return fmt.Errorf("%v, %v", out, err)
				}
				found, err := h.api.SearchGameSessions(h.context(), &gamelift.SearchGameSessionsInput{FleetId: &test.fleet})
				if err == nil && len(found.GameSessions) > 0 {
					return fmt.Errorf("a search finds %d", len(found.GameSessions))
				}
				return err
			})
		}
		h.talk(players[0], players[1])
		h.checkReceived(players...)

		h.fill("fleet-drained", "us-east-1", many)
		for _, p := range players {
			p.Kill()
		}
		ctx, now := context.WithCancel(h.context())
		now() // like a second signal
		h.host.Drain(ctx)
		select {
		case reason := <-failed:
			t.Errorf("the host failed while it drained: %s", reason)
		default:
		}
	})
}

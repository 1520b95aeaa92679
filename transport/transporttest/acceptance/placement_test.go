package acceptance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// regions stands for three regions with a fleet in each.
func regions(c *host.Config) {
	c.Locations = []host.Location{{Name: "us-west-2"}, {Name: "eu-west-1"}}
	c.Fleets = append(c.Fleets,
		host.Fleet{ID: "fleet-far", GameSessionsMax: 2, Locations: []host.FleetLocation{{Name: "us-west-2"}, {Name: "eu-west-1"}}},
	)
}

func (h *testHost) placement(id string) *types.GameSessionPlacement {
	h.Helper()
	out, err := h.api.DescribeGameSessionPlacement(h.context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	if err != nil {
		h.Fatal(err)
	}
	return out.GameSessionPlacement
}

func (h *testHost) startPlacement(in *gamelift.StartGameSessionPlacementInput) *types.GameSessionPlacement {
	h.Helper()
	out, err := h.api.StartGameSessionPlacement(h.context(), in)
	if err != nil {
		h.Fatal(err)
	}
	if out.GameSessionPlacement.Status != types.GameSessionPlacementStatePending {
		h.Fatalf("it begins as %s", out.GameSessionPlacement.Status)
	}
	return out.GameSessionPlacement
}

func (h *testHost) ended(id string, want types.GameSessionPlacementState) *types.GameSessionPlacement {
	h.Helper()
	h.until("the placement ends", func() error {
		if p := h.placement(id); p.Status != want {
			return fmt.Errorf("it is %s", p.Status)
		}
		return nil
	})
	return h.placement(id)
}

// The queue that is there from the start takes a placement, and its players play.
// API-46, API-50.
func TestAPlacementIsPlayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		h.startPlacement(&gamelift.StartGameSessionPlacementInput{
			PlacementId: aws.String("p"), GameSessionQueueName: aws.String("queue-dev"), MaximumPlayerSessionCount: aws.Int32(4), GameSessionName: aws.String("placed"),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("one")}, {PlayerId: aws.String("two")}},
		})
		p := h.ended("p", types.GameSessionPlacementStateFulfilled)
		game := h.game(*p.GameSessionId)
		if *p.GameSessionArn != *p.GameSessionId || *p.GameSessionRegion != "us-east-1" || *p.Port != *game.Port || *p.IpAddress != *game.IpAddress || p.EndTime == nil {
			t.Errorf("got %+v", p)
		}
		tail := (*p.GameSessionId)[strings.LastIndexByte(*p.GameSessionId, '/')+1:]
		if len(tail) != 36 || strings.HasPrefix(tail, "gsess-") || *game.Name != "placed" || *game.CurrentPlayerSessionCount != 2 || *game.MaximumPlayerSessionCount != 4 {
			t.Errorf("game session %s: %+v", tail, game)
		}
		var clients []*stock.Client
		for i, name := range []string{"one", "two"} {
			seat := h.seat(*p.PlacedPlayerSessions[i].PlayerSessionId)
			if *seat.PlayerId != name || seat.Status != types.PlayerSessionStatusReserved {
				t.Errorf("got %+v", seat)
			}
			clients = append(clients, h.join(*seat.PlayerSessionId, stock.Options{}))
		}
		h.send(clients[0], stock.Message{OpCode: 10, TargetGroup: -1, Payload: []byte("hi"), Reliable: true})
		if e := h.expect(clients[1], stock.Op(10)); string(e.Payload) != "hi" {
			t.Errorf("got %v", e)
		}
	})
}

// The example of the API page: two players, three regions, one of them too far for one.
func TestLatencyDecidesThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, regions, nil)
		_, err := h.api.CreateGameSessionQueue(h.context(), &gamelift.CreateGameSessionQueueInput{
			Name: aws.String("q"), TimeoutInSeconds: aws.Int32(60),
			Destinations: []types.GameSessionQueueDestination{
				{DestinationArn: aws.String("arn:aws:gamelift:us-east-1::fleet/fleet-far")}, {DestinationArn: aws.String("arn:aws:gamelift:us-east-1::fleet/fleet-dev")},
			},
			PlayerLatencyPolicies: []types.PlayerLatencyPolicy{{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(130), PolicyDurationSeconds: aws.Int32(60)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var latencies []types.PlayerLatency
		for _, l := range []struct {
			player, region string
			ms             float32
		}{{"player1", "us-east-1", 100}, {"player1", "us-west-2", 50}, {"player2", "us-east-1", 120}, {"player2", "us-west-2", 150}} {
			latencies = append(latencies, types.PlayerLatency{PlayerId: &l.player, RegionIdentifier: &l.region, LatencyInMilliseconds: &l.ms})
		}
		h.startPlacement(&gamelift.StartGameSessionPlacementInput{
			PlacementId: aws.String("p"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2), PlayerLatencies: latencies,
		})
		if p := h.ended("p", types.GameSessionPlacementStateFulfilled); *p.GameSessionRegion != "us-east-1" {
			t.Errorf("in %s: %s", *p.GameSessionRegion, *p.GameSessionId)
		}
		// Without latencies the first destination counts, and its locations by name.
		h.startPlacement(&gamelift.StartGameSessionPlacementInput{PlacementId: aws.String("plain"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2)})
		p := h.ended("plain", types.GameSessionPlacementStateFulfilled)
		if *p.GameSessionRegion != "eu-west-1" || !strings.Contains(*p.GameSessionId, "fleet-far") {
			t.Errorf("in %s: %s", *p.GameSessionRegion, *p.GameSessionId)
		}
		_, err = h.api.StopGameSessionPlacement(h.context(), &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("plain")})
		var refused *types.InvalidRequestException
		if !errors.As(err, &refused) {
			t.Errorf("stopped: %v", err)
		}
	})
}

// Full: the placement waits, and takes the place of the game session that ends.
func TestPlacementWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Fleets[0].GameSessionsMax = 1 }, nil)
		game := h.newGame(2)
		h.startPlacement(&gamelift.StartGameSessionPlacementInput{PlacementId: aws.String("p"), GameSessionQueueName: aws.String("queue-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
		h.startPlacement(&gamelift.StartGameSessionPlacementInput{PlacementId: aws.String("q"), GameSessionQueueName: aws.String("queue-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
		if _, err := h.api.TerminateGameSession(h.context(), &gamelift.TerminateGameSessionInput{GameSessionId: &game, TerminationMode: types.TerminationModeForceTerminate}); err != nil {
			t.Fatal(err)
		}
		h.ended("p", types.GameSessionPlacementStateFulfilled)
		if p := h.placement("q"); p.Status != types.GameSessionPlacementStatePending {
			t.Errorf("the second is %s", p.Status)
		}
		if _, err := h.api.DeleteGameSessionQueue(h.context(), &gamelift.DeleteGameSessionQueueInput{Name: aws.String("queue-dev")}); err != nil {
			t.Fatal(err)
		}
		h.ended("q", types.GameSessionPlacementStateFailed)
	})
}

// After a restart of the host, queues and placements are there.
func TestPlacementsOutliveTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() + "/troupe.db"
		kept := func(c *host.Config) {
			c.Store = host.Store{Path: path}
			c.Fleets[0].GameSessionsMax = 1
		}
		h := startHost(t, kept, nil)
		if _, err := h.api.CreateGameSessionQueue(h.context(), &gamelift.CreateGameSessionQueueInput{
			Name: aws.String("mine"), CustomEventData: aws.String("data"), Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
			Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String("arn:aws:gamelift:us-east-1::alias/alias-dev")}},
		}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"first", "second"} {
			h.startPlacement(&gamelift.StartGameSessionPlacementInput{PlacementId: &id, GameSessionQueueName: aws.String("mine"), MaximumPlayerSessionCount: aws.Int32(2)})
		}
		first := h.ended("first", types.GameSessionPlacementStateFulfilled)
		h.host.Close()
		h = startHost(t, kept, nil)
		if p := h.placement("first"); p.Status != types.GameSessionPlacementStateFulfilled || *p.GameSessionId != *first.GameSessionId || !p.EndTime.Equal(*first.EndTime) {
			t.Errorf("got %+v", p)
		}
		if p := h.ended("second", types.GameSessionPlacementStateFulfilled); *p.GameSessionId == *first.GameSessionId {
			t.Error("it got the game session of the dead process")
		}
		queues, err := h.api.DescribeGameSessionQueues(h.context(), &gamelift.DescribeGameSessionQueuesInput{})
		if err != nil || len(queues.GameSessionQueues) != 2 || !slices.ContainsFunc(queues.GameSessionQueues, func(q types.GameSessionQueue) bool {
			return *q.Name == "mine" && *q.CustomEventData == "data"
		}) {
			t.Errorf("%+v %v", queues, err)
		}
		tags, err := h.api.ListTagsForResource(h.context(), &gamelift.ListTagsForResourceInput{ResourceARN: aws.String("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/mine")})
		if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "v" {
			t.Errorf("%+v %v", tags, err)
		}
	})
}

// Many at once: each ends once, with a game session of its own.
func TestManyPlacements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Store = host.Store{Path: t.TempDir() + "/troupe.db"}
			c.API.Rate = 0
		}, nil)
		const n, callers = 200, 16
		var wait sync.WaitGroup
		began := time.Now()
		for caller := range callers {
			wait.Go(func() {
				for i := caller; i < n; i += callers {
					h.startPlacement(&gamelift.StartGameSessionPlacementInput{
						PlacementId: aws.String(fmt.Sprint("p", i)), GameSessionQueueName: aws.String("queue-dev"), MaximumPlayerSessionCount: aws.Int32(2),
						DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("x")}},
					})
				}
			})
		}
		wait.Wait()
		started := time.Since(began)
		games := map[string]bool{}
		for i := range n {
			games[*h.ended(fmt.Sprint("p", i), types.GameSessionPlacementStateFulfilled).GameSessionId] = true
		}
		if len(games) != n {
			t.Errorf("%d game sessions", len(games))
		}
		t.Logf("%d started in %v, all had ended after %v", n, started, time.Since(began))
	})
}

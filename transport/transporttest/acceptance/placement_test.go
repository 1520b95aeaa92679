package acceptance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

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

// The default queue fulfils a placement, and its players play.
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

// After a restart of the host, queues and placements still exist.
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

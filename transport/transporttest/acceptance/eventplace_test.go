package acceptance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/memnet"
)

// told is an event as a backend decodes it.
type told struct {
	ID         string
	Source     string
	DetailType string `json:"detail-type"`
	Resources  []string
	Detail     map[string]any
}

// backend is a webhook. For each placement event, it immediately queries the host about the placement.
type backend struct {
	url  string
	mu   sync.Mutex
	all  []told
	seen []*types.GameSessionPlacement // the placement at the time of the event
	api  *gamelift.Client
}

func newBackend(t *testing.T, network memnet.Machine) *backend {
	b := &backend{}
	b.url = webhook(t, network, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var n struct{ Message string }
		var e told
		if err := errors.Join(json.Unmarshal(text, &n), json.Unmarshal([]byte(n.Message), &e)); err != nil {
			t.Errorf("got %s: %v", text, err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.all = append(b.all, e)
		id, _ := e.Detail["placementId"].(string)
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		out, err := b.api.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
		if err != nil {
			t.Error(err)
			return
		}
		b.seen = append(b.seen, out.GameSessionPlacement)
	})
	return b
}

// types returns the types of the events so far.
func (b *backend) types() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.all {
		all = append(all, e.Detail["type"].(string))
	}
	return all
}

// Each placement has one event. A backend that receives it and queries the host sees the final status.
// API-53.
func TestBackendIsToldOfWhatItCanSeeAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newNetwork(t)
		placements := newBackend(t, network)
		h := startHostWith(t, func(c *host.Config) {
			c.Events.Sinks = []host.EventSink{
				{Name: "placements", Type: "webhook-sns", URL: placements.url, Targets: []string{"arn:aws:sns:*:lobby"}},
			}
		}, func(o *host.Options) { o.Network = network })
		placements.api = h.api
		_, err := h.api.CreateGameSessionQueue(h.context(), &gamelift.CreateGameSessionQueueInput{
			Name: aws.String("q"), NotificationTarget: aws.String("arn:aws:sns:us-east-1:123456789012:lobby"), CustomEventData: aws.String("mine"),
			Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String("arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-dev")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"p-1", "p-2"} {
			_, err := h.api.StartGameSessionPlacement(h.context(), &gamelift.StartGameSessionPlacementInput{
				PlacementId: aws.String(id), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
				DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("one")}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		h.until("the events come", func() error {
			if got := placements.types(); len(got) < 2 {
				return fmt.Errorf("so far %v", got)
			}
			return nil
		})
		games := map[string]bool{}
		for i, e := range placements.all {
			p := placements.seen[i]
			if p.Status != types.GameSessionPlacementStateFulfilled {
				t.Fatalf("who asked saw %s", p.Status)
			}
			if e.Detail["type"] != "PlacementFulfilled" || e.Detail["port"] != fmt.Sprint(*p.Port) || e.Detail["gameSessionArn"] != *p.GameSessionArn ||
				e.Detail["customEventData"] != "mine" || e.Source != "aws.gamelift" || !strings.HasSuffix(e.Resources[0], ":000000000000:gamesessionqueue/q") {
				t.Errorf("got %+v", e)
			}
			games[*p.GameSessionArn] = true
		}
		if len(games) != 2 || len(placements.types()) != 2 {
			t.Errorf("%v, %v", games, placements.types())
		}
	})
}

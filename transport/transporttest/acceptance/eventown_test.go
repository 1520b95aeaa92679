package acceptance_test

import (
	"encoding/json"
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
)

// A sink that subscribes to the events of game sessions and player sessions receives them. Those of one game
// session are in order.
func TestEventsOfGameSessionsComeToASinkThatAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var all []string
		network := newNetwork(t)
		hook := webhook(t, network, func(_ http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			var e told
			if err := json.Unmarshal(text, &e); err != nil || e.Source != "selfhosted.gamelift" {
				t.Errorf("got %s: %v", text, err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, e.Detail["type"].(string))
		})
		h := startHostWith(t, func(c *host.Config) {
			c.Events.Sinks = []host.EventSink{{Name: "own", Type: "webhook-raw", URL: hook, Secret: "s", Kinds: []string{"gamesession", "playersession"}}}
		}, func(o *host.Options) { o.Network = network })
		game := h.newGame(2)
		h.seats(game, 1)
		_, err := h.api.TerminateGameSession(h.context(), &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(game), TerminationMode: types.TerminationModeForceTerminate})
		if err != nil {
			t.Fatal(err)
		}
		const want = "GameSessionActivating GameSessionActive PlayerSessionReserved GameSessionTerminating PlayerSessionTimedOut GameSessionTerminated"
		h.until("the events come", func() error {
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(all, " "); got != want {
				return fmt.Errorf("so far %s", got)
			}
			return nil
		})
	})
}

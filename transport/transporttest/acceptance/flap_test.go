package acceptance_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages/counters"
	"troupe/transport/client"
)

// The connections of SDK players break every 600 ms, a hundred times each. The players are back as soon as
// the link is up again.
func TestWhoseLinkFlapsIsBackAtOnce(t *testing.T) {
	for name, down := range map[string]time.Duration{"cut": 0, "cut, and down for a moment": 50 * time.Millisecond} {
		bubble(t, name, func(t *testing.T) {
			const players, cuts, again = 4, 100, 200 * time.Millisecond
			h := startHost(t, nil, nil)
			ids := h.seats(h.newGame(players), players)
			var all sync.WaitGroup
			for _, id := range ids {
				path, back := newSlowPath(h, 0), make(chan time.Duration, 1)
				c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: path.ln.Addr().String(), PlayerSessionID: id,
					Reconnect:     client.Reconnect{DelayMax: again},
					OnReconnected: func(r client.Reconnected) { back <- r.After }})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Abort)
				all.Go(func() {
					for n := range cuts {
						time.Sleep(600 * time.Millisecond) // stays below resumesPerPlayerSessionPerMinute
						path.down.Store(down > 0)
						path.cut()
						time.Sleep(down)
						path.down.Store(false)
						if away := <-back; away > down+again {
							t.Errorf("back %v after loss %d", away, n)
						}
					}
				})
			}
			all.Wait()
			if n := h.logins(counters.LoginRefused); n != 0 {
				t.Errorf("%d logins refused", n)
			}
			for _, id := range ids {
				if s := h.seat(id).Status; s != types.PlayerSessionStatusActive {
					t.Errorf("a player session is %s", s)
				}
			}
		})
	}
}

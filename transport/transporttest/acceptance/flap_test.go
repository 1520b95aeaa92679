package acceptance_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages/counters"
	"troupe/transport/client"
)

// A player of the SDK whose link breaks every few hundred milliseconds is back at once, time
// after time. The bounds allow for a busy machine, on which first connections take longer too. Who waited
// longer after each loss, whatever became of it, was away for more than a second on average.
func TestWhoseLinkFlapsIsBackAtOnce(t *testing.T) {
	for name, down := range map[string]time.Duration{"cut": 0, "cut, and down for a moment": 50 * time.Millisecond} {
		bubble(t, name, func(t *testing.T) {
			players, cuts, up, bound := 4, 7, 100*time.Millisecond, 300*time.Millisecond
			if *fullSize {
				cuts, up = 100, 600*time.Millisecond // under resumesPerPlayerSessionPerMinute
			}
			h := startHost(t, nil, nil)
			for range 3 {
				var mu sync.Mutex
				var away, first []time.Duration
				var all sync.WaitGroup
				ids := h.seats(h.newGame(players), players)
				for _, id := range ids {
					path, back := newSlowPath(h, 0), make(chan time.Duration, 1)
					begun := time.Now()
					c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: path.ln.Addr().String(), PlayerSessionID: id,
						OnReconnected: func(r client.Reconnected) { back <- r.After }})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(c.Abort)
					first = append(first, time.Since(begun))
					all.Go(func() {
						for n := range cuts {
							time.Sleep(up)
							path.down.Store(down > 0)
							path.cut()
							time.Sleep(down)
							path.down.Store(false)
							select {
							case after := <-back:
								mu.Lock()
								away = append(away, after-down)
								mu.Unlock()
							case <-time.After(patience):
								t.Errorf("not back %v after loss %d", patience, n)
								return
							}
						}
					})
				}
				all.Wait()
				if t.Failed() {
					return
				}
				slices.Sort(away)
				slices.Sort(first)
				bound := bound + 4*first[len(first)/2]
				p50, p99 := away[len(away)/2], away[len(away)*99/100]
				t.Logf("back %d times after the link was: p50 %v, p99 %v; want under %v, and ten times that", len(away), p50, p99, bound)
				quick := p50 < bound && p99 < 10*bound
				if n := h.logins(counters.LoginRefused); n != 0 {
					t.Errorf("%d logins refused", n)
				}
				for _, id := range ids {
					if s := h.seat(id).Status; s != types.PlayerSessionStatusActive {
						t.Errorf("a player session is %s", s)
					}
				}
				if quick {
					return
				}
			}
			t.Error("it took too long three times")
		})
	}
}

package acceptance_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Somebody sends 200 small messages a second to a room for 21 s, within the limits; two of
// its players are away meanwhile. By default they miss none of them. In a queue that is too
// short they miss some, and are told of them, but none of somebody who sends little.
// Nobody ends.
func TestSmallMessagesEndNobodyWhoIsAway(t *testing.T) {
	const (
		total    = 200 * 21
		some     = 40 // of the one who sends little
		tooShort = 1024
	)
	for name, queue := range map[string]int{"default": 0, "a queue that is too short": tooShort} {
		bubble(t, name, func(t *testing.T) {
			var lost atomic.Uint64
			h := startHost(t, func(c *host.Config) {
				if queue > 0 {
					c.Session.PlayerQueueMessages = queue
				}
			}, func() script.Handler { return &gapReporter{lost: &lost} })
			ids := h.seats(h.newGame(4), 4)
			loud, quiet := h.join(ids[0], stock.Options{NoUDP: true, EventsMax: 2 * total}), h.join(ids[1], stock.Options{NoUDP: true, EventsMax: 2 * total})
			path := newSlowPath(h, 0)
			sdk, plain := slowSDK(h, path, ids[2]), slowStock(h, path, ids[3])
			path.down.Store(true)
			path.cut()
			h.detached(2)
			for i := range total {
				time.Sleep(time.Second / 200)
				h.send(loud, stock.Message{OpCode: int32(i + 1), TargetGroup: stock.AllPlayers, Payload: []byte("small"), Reliable: true})
				if i%(total/some) == 0 {
					h.send(quiet, stock.Message{OpCode: asideOp, TargetGroup: stock.AllPlayers, Payload: []byte("small"), Reliable: true})
				}
			}
			synctest.Wait()
			for _, c := range []*stock.Client{loud, quiet} {
				if n := len(c.Log()) - 1; n != total+some {
					t.Errorf("who is there has heard %d of %d", n, total+some)
				}
			}
			for _, id := range ids {
				if s := h.seat(id).Status; s != types.PlayerSessionStatusActive {
					t.Fatalf("a player session is %s", s)
				}
			}
			path.down.Store(false)

			missing := make(map[*slowPlayer]int64)
			for _, p := range []*slowPlayer{sdk, plain} {
				h.until("the last message has come", func() error {
					if n := p.last.Load(); n != total {
						return fmt.Errorf("the last was %d", n)
					}
					return nil
				})
				missing[p] = total - p.got.Load()
				if n := p.aside.Load(); n != some {
					t.Errorf("%d of %d messages came of the one who sends little", n, some)
				}
				if n := p.wrong.Load(); n != 0 {
					t.Errorf("%d messages out of order", n)
				}
			}
			told := int64(lost.Load())
			if missing[sdk] != sdk.told.Load() || missing[sdk]+missing[plain] != told || (told > 0) != (queue > 0) {
				t.Errorf("%d and %d are missing; the player is told of %d, the game of %d", missing[sdk], missing[plain], sdk.told.Load(), told)
			}
			if n := h.host.Counters().Resumes.Total(); n != 2 || h.logins(counters.LoginRefused) != 0 {
				t.Errorf("%d came back, %d were refused", n, h.logins(counters.LoginRefused))
			}
			h.checkReceived(loud, quiet)
		})
	}
}

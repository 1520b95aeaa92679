package acceptance_test

import (
	"fmt"
	"sync/atomic"
	"testing"
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
// Nobody ends. By default the test sends the same messages as fast as it can.
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
				if !*fullSize {
					c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond = 0, 0
				}
			}, func() script.Handler { return &gapReporter{lost: &lost} })
			ids := h.seats(h.newGame(4), 4)
			loud, quiet := h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{NoUDP: true})
			path := newSlowPath(h, 0)
			sdk, plain := slowSDK(h, path, ids[2]), slowStock(h, path, ids[3])
			path.down.Store(true)
			path.cut()
			h.detached(2)
			var heard [2]atomic.Int64 // how many by those who send
			for i, c := range []*stock.Client{loud, quiet} {
				go func() {
					for {
						if _, err := c.NextData(t.Context()); err != nil {
							return
						}
						heard[i].Add(1)
					}
				}()
			}
			// keepUp waits until those who are there have heard all.
			keepUp := func(sent int64) {
				for i := range heard {
					h.until("those who send hear it", func() error {
						if n := heard[i].Load(); n < sent {
							return fmt.Errorf("%d of %d", n, sent)
						}
						return nil
					})
				}
			}

			begun := time.Now()
			for i := range total {
				if *fullSize {
					time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / 200)))
				}
				h.send(loud, stock.Message{OpCode: int32(i + 1), TargetGroup: stock.AllPlayers, Payload: []byte("small"), Reliable: true})
				if i%(total/some) == 0 {
					h.send(quiet, stock.Message{OpCode: asideOp, TargetGroup: stock.AllPlayers, Payload: []byte("small"), Reliable: true})
					keepUp(int64(i + 1 + i/(total/some) + 1))
				}
			}
			keepUp(total + some)
			took := time.Since(begun)
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
			t.Logf("%d messages in %v: %d and %d are missing", total, took, missing[sdk], missing[plain])
		})
	}
}

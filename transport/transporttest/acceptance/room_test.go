package acceptance_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Players who send to their game session as fast as they can share limits.gameSessionBytesPerSecond. A player
// who sends little does not have to wait, and nobody loses the connection.
func TestARoomIsNoFasterThanItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound, loud, size, length = 128 << 10, 3, 2000, time.Second
		h := startHost(t, func(c *host.Config) {
			c.Limits.GameSessionBytesPerSecond = bound
			c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond = 0, 0
		}, nil)
		p := h.players(loud+1, stock.Options{NoUDP: true})
		quiet := p[loud]
		var over atomic.Bool
		var all sync.WaitGroup
		for _, c := range p[:loud] {
			all.Go(func() {
				for !over.Load() {
					err := c.Send(stock.Message{OpCode: 20, TargetGroup: stock.AllPlayers, Payload: make([]byte, size), Reliable: true})
					if err != nil && !over.Load() {
						t.Errorf("who sends much is cut off: %v", err)
						return
					}
				}
			})
		}
		heard := 0
		var trips []time.Duration
		begun := time.Now()
		for time.Since(begun) < length || heard < bound/4 && time.Since(begun) < patience {
			sent := time.Now()
			h.send(quiet, stock.Message{OpCode: 21, TargetGroup: stock.AllPlayers, Payload: make([]byte, 20), Reliable: true})
			for back := false; !back; {
				e, err := quiet.NextData(h.context())
				if err != nil {
					t.Fatal(err)
				}
				if back = e.OpCode == 21; !back {
					heard += len(e.Payload)
				}
			}
			trips = append(trips, time.Since(sent))
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(begun)
		over.Store(true)
		for _, c := range p[:loud] {
			c.Kill() // what it has written may stay queued for a long time
		}
		all.Wait()
		slices.Sort(trips)
		middle := trips[len(trips)/2]
		t.Logf("%d KiB in %v; %d messages of the one who sends little, %v in the middle", heard>>10, took, len(trips), middle)
		if most := int(2 * bound * (took + time.Second).Seconds()); heard > most || heard < bound/4 {
			t.Errorf("%d bytes came in %v, want %d to %d", heard, took, bound/4, most)
		}
		if middle > 2*time.Second {
			t.Errorf("a message of the one who sends little takes %v", middle)
		}
	})
}

// TestAFullMailboxDropsFastMessagesAndReadsNoMore: while a game does not process its messages, the host
// queues only as many as the mailbox holds. Further fast messages are dropped. Further reliable messages wait
// at their senders, and none is lost.
func TestAFullMailboxDropsFastMessagesAndReadsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room, sent = 64, 400
		entered, release := make(chan struct{}), make(chan struct{})
		let := sync.OnceFunc(func() { close(release) })
		var first sync.Once
		var heard atomic.Int64
		g := &fakeGame{message: func(_ script.Session, m *script.Message) {
			first.Do(func() { close(entered); <-release })
			if m.OpCode == 2 {
				heard.Add(1)
			}
		}}
		h := startHost(t, func(c *host.Config) { c.Session.MailboxMessages = room }, g.make)
		t.Cleanup(let)
		p := h.players(2, stock.Options{})
		for _, c := range p {
			if err := c.AwaitFast(h.context()); err != nil {
				t.Fatal(err)
			}
		}
		h.send(p[0], stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Reliable: true})
		<-entered
		taken := func() int64 { return h.host.Counters().MessagesIn.Get(counters.WS) }
		before := taken()
		for i := range sent {
			h.send(p[0], stock.Message{OpCode: 2, TargetPlayer: stock.ServerID, Payload: fmt.Append(nil, i), Reliable: true})
		}
		h.until("the mailbox is full", func() error { // dropped fast messages show that it is full
			h.send(p[1], stock.Message{OpCode: 3, TargetPlayer: stock.ServerID})
			if h.host.Counters().Dropped.Get(counters.DropSessionBusy) == 0 {
				return errors.New("all were taken")
			}
			return nil
		})
		if n := taken() - before; n > 2*room+32 { // 32 may be in processing
			t.Errorf("%d of %d reliable messages were read while there was room for %d", n, sent, room)
		}
		let()
		h.untilCount("reliable messages", heard.Load, sent)
		h.talk(p[0], p[1])
		h.checkReceived(p...)
	})
}

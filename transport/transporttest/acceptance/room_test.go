package acceptance_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Players who send to their room as fast as they can share limits.gameSessionBytesPerSecond;
// one who sends little beside them does not wait, and nobody loses the connection.
func TestARoomIsNoFasterThanItsBound(t *testing.T) {
	t.Parallel()
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
		c.Kill() // what it has written may wait for long
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
}

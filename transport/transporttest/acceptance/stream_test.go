package acceptance_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/memnet"
)

const streamMessages = 3000 // in each direction

// ahead is how many messages a sender may be ahead of its receiver. It is less than the budget of an outbox.
const ahead = 1000

func streamHost(t *testing.T, change func(*host.Config)) *testHost {
	return startHost(t, func(c *host.Config) {
		c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond, c.Limits.ResumesPerPlayerSessionPerMinute = 0, 0, 0
		c.Session.PingInterval = 100 * time.Millisecond
		if change != nil {
			change(c)
		}
	}, nil)
}

func streamed(i int) []byte { return binary.BigEndian.AppendUint32(make([]byte, 0, 64), uint32(i)) }

// TestStreamThroughResets sends streams in both directions between players of the Go SDK, whose connections
// are repeatedly cut and moved to other transports. Every message arrives exactly once and in order.
// RL-101.
func TestStreamThroughResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamHost(t, secure(t))
		seed := memnet.Seed(t)
		ids := h.seats(h.newGame(2), 2)
		a, b := h.sdk(client.WS, ids[0]), h.sdk(client.KCP, ids[1])
		total := streamMessages
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute+time.Duration(total)*10*time.Millisecond)
		defer cancel()
		var all, cutting sync.WaitGroup
		cutAll, stop := context.WithCancel(ctx)
		var got [3]atomic.Int64 // index: peer id
		for i, p := range []*sdkPlayer{a, b} {
			other := int32(2 - i)
			all.Go(func() { // the sender
				for n := 0; n < total && ctx.Err() == nil; {
					if int64(n) > got[other].Load()+ahead {
						time.Sleep(time.Millisecond)
						continue
					}
					if n%5 == 0 {
						time.Sleep(time.Millisecond) // otherwise the stream could end before the first cut
					}
					switch err := p.Send(ctx, client.Message{OpCode: 82, TargetPlayer: other, Payload: streamed(n)}); err {
					case nil:
						n++
					case client.ErrBufferFull:
						time.Sleep(time.Millisecond)
					default:
						t.Errorf("player %d: send %d: %v", p.PeerID(), n, err)
						return
					}
				}
			})
			all.Go(func() { // the receiver
				next := 0
				defer func() {
					if next < total {
						cancel() // this player's messages have all arrived
					}
				}()
				for next < total {
					select {
					case e, open := <-p.Events():
						switch {
						case !open:
							t.Errorf("player %d ended after %d messages: %v", p.PeerID(), next, p.End())
							return
						case e.Kind == client.EventGap:
							t.Errorf("player %d: a gap of %d", p.PeerID(), e.Gap.Lost)
						case e.Kind != client.EventMessage || e.OpCode != 82:
						case int(binary.BigEndian.Uint32(e.Payload)) != next:
							t.Errorf("player %d: message %d after %d", p.PeerID(), binary.BigEndian.Uint32(e.Payload), next-1)
							return
						default:
							next++
							got[p.PeerID()].Store(int64(next))
						}
					case <-ctx.Done():
						t.Errorf("player %d: %d of %d messages", p.PeerID(), next, total)
						return
					}
				}
			})
			cutting.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for cutAll.Err() == nil {
					time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
					if random.IntN(4) > 0 {
						awaitBack(cutAll, p) // otherwise no login would complete in time on a busy machine
					}
					if i == 1 && random.IntN(3) == 0 {
						// While the player is detached, Move fails. That is expected.
						_ = p.Move(cutAll, []client.Transport{client.WS, client.KCP}[random.IntN(2)])
						continue
					}
					p.NetworkChanged()
				}
			})
		}
		all.Wait()
		stop()
		cutting.Wait()
		if n := h.host.Counters().Lost.Load() + h.host.Counters().Gaps.Load(); n != 0 {
			t.Errorf("%d messages or gaps are counted as lost, and nothing is", n)
		}
		s, r := a.Stats(), b.Stats()
		if s.Reconnects+r.Reconnects < 10 {
			t.Errorf("only %d reconnects", s.Reconnects+r.Reconnects)
		}
		t.Logf("%d messages each way, %d reconnects, sent again %d, dropped as duplicates %d: lost 0, duplicated 0, reordered 0 (seed %d)",
			total, s.Reconnects+r.Reconnects, s.Replayed+r.Replayed+uint64(h.host.Counters().Replayed.Load()),
			s.Duplicates+r.Duplicates+uint64(h.host.Counters().Duplicates.Load()), seed)
	})
}

// awaitBack returns when the player is attached or has ended, or when ctx ends.
func awaitBack(ctx context.Context, p *sdkPlayer) {
	for ctx.Err() == nil && !p.Attached() {
		select {
		case <-p.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

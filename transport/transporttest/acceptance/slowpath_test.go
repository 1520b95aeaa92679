package acceptance_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// slowPath is a TCP relay in front of a host. It limits the rate of the data from the host.
type slowPath struct {
	h    *testHost
	ln   net.Listener
	rate atomic.Int64 // bytes per second; 0: no limit
	down atomic.Bool  // drops all connections

	mu    sync.Mutex
	conns []net.Conn
	all   sync.WaitGroup
}

// newSlowPath starts a relay that ends with the test.
func newSlowPath(h *testHost, bytesPerSecond int64) *slowPath {
	h.Helper()
	ln, err := h.Net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	p := &slowPath{h: h, ln: ln}
	p.rate.Store(bytesPerSecond)
	p.all.Go(p.accept)
	h.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *slowPath) accept() {
	for {
		near, err := p.ln.Accept()
		if err != nil {
			return
		}
		if p.down.Load() {
			_ = near.Close()
			continue
		}
		far, err := p.h.Net.DialContext(context.Background(), "tcp", p.h.host.Addrs().WS)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.all.Go(func() {
			defer far.Close()
			_, _ = io.Copy(far, near)
		})
		p.all.Go(func() {
			defer near.Close()
			p.trickle(near, far)
		})
	}
}

func (p *slowPath) trickle(to io.Writer, from io.Reader) {
	buf := make([]byte, 512)
	for due := time.Now(); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		rate := p.rate.Load()
		if rate == 0 {
			continue
		}
		if due = due.Add(time.Duration(n) * time.Second / time.Duration(rate)); due.Before(time.Now().Add(-time.Second)) {
			due = time.Now()
		}
		time.Sleep(time.Until(due))
	}
}

// cut ends all connections through the relay. The host gets a reset.
func (p *slowPath) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.(*memnet.Stream).Reset()
	}
	p.conns = nil
}

// gapReporter is a relay handler that counts the lost messages reported to it.
type gapReporter struct {
	script.Base
	lost *atomic.Uint64
}

func (g *gapReporter) OnPlayerReconnected(_ messages.PeerID, info script.Reconnected) {
	g.lost.Add(info.Lost)
}

// A player may send more than another player's path can transport, here eight times as much, so that the slow
// player's queue fills repeatedly. The slow player then loses messages and is told so, but never loses its
// player session.
// RL-112.
func TestAFastSenderDoesNotEndWhoIsSlow(t *testing.T) {
	for name, play := range map[string]func(*testHost, *slowPath, string) *slowPlayer{"sdk": slowSDK, "stock": slowStock} {
		bubble(t, name, func(t *testing.T) {
			var lost atomic.Uint64
			h := startHost(t, func(c *host.Config) {
				c.Session.PlayerQueueBytes = 64 << 10
			}, func() script.Handler { return &gapReporter{lost: &lost} })
			ids := h.seats(h.newGame(2), 2)
			sender := h.join(ids[0], stock.Options{NoUDP: true})
			path := newSlowPath(h, 30_000)
			slow := play(h, path, ids[1])
			const total = 180 // 1.5 s at 240 KB per second
			payload := make([]byte, 2000)
			for i, start := 0, time.Now(); i < total; i++ {
				time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / 120)))
				h.send(sender, stock.Message{OpCode: int32(i + 1), TargetPlayer: 2, Payload: payload, Reliable: true})
			}
			if s := h.seat(ids[1]).Status; s != types.PlayerSessionStatusActive {
				t.Fatalf("the slow player's session is %s", s)
			}
			path.rate.Store(0)
			h.until("the last message has come", func() error {
				if n := slow.last.Load(); n != total {
					return fmt.Errorf("the last was %d", n)
				}
				return nil
			})
			missing := total - slow.got.Load()
			told := int64(lost.Load())
			switch {
			case name == "sdk" && (slow.told.Load() != missing || told != missing), missing > told:
				t.Errorf("%d are missing, the player is told of %d, the game of %d", missing, slow.told.Load(), told)
			case missing == 0:
				t.Error("nothing was lost: the test proves nothing")
			}
			if n := h.host.Counters().Lost.Load(); n != told {
				t.Errorf("the game was told of %d lost, %d are counted", told, n)
			}
			if n := slow.wrong.Load(); n != 0 {
				t.Errorf("%d messages out of order", n)
			}
			t.Logf("%d of %d came, %d times back", slow.got.Load(), total, h.host.Counters().Resumes.Total())
		})
	}
}

// slowPlayer counts distinct received messages, and the messages that were reported to it as lost.
type slowPlayer struct{ got, last, told, wrong atomic.Int64 }

func (p *slowPlayer) on(op int32) {
	if int64(op) > p.last.Load() {
		p.last.Store(int64(op))
		p.got.Add(1)
	}
}

// slowSDK starts a player with the Go SDK.
func slowSDK(h *testHost, path *slowPath, id string) *slowPlayer {
	h.Helper()
	c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: path.ln.Addr().String(), PlayerSessionID: id,
		Reconnect: client.Reconnect{DelayMax: 200 * time.Millisecond}})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(c.Abort)
	p := new(slowPlayer)
	go func() {
		for e := range c.Events() {
			switch e.Kind {
			case client.EventMessage:
				if int64(e.OpCode) <= p.last.Load() {
					p.wrong.Add(1)
				}
				p.on(e.OpCode)
			case client.EventGap:
				p.told.Add(int64(e.Gap.Lost))
			}
		}
	}()
	return p
}

// slowStock starts a stock client that logs in again whenever its connection is closed.
func slowStock(h *testHost, path *slowPath, id string) *slowPlayer {
	h.Helper()
	p := new(slowPlayer)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	h.Cleanup(func() { cancel(); <-done })
	entered := make(chan struct{})
	go func() {
		defer close(done)
		for first := true; ctx.Err() == nil; {
			c, err := stock.Dial(ctx, path.ln.Addr().String(), id, stock.Options{NoUDP: true, Network: path.h.Net})
			if err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			if _, err := c.AwaitLogin(ctx); err == nil && first {
				first = false
				close(entered)
			}
			for before := int32(0); ; {
				e, err := c.NextData(ctx)
				if err != nil {
					break
				}
				p.on(e.OpCode)
				if e.OpCode <= before {
					p.wrong.Add(1)
				}
				before = e.OpCode
			}
			c.Kill()
		}
	}()
	<-entered
	return p
}

package acceptance_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// detached waits until exactly n players of the host are detached.
func (h *testHost) detached(n int64) {
	h.Helper()
	h.untilCount("detached players", func() int64 { return h.host.Counters().Players.Get(counters.PlayerDetached) }, n)
}

// seatIs waits until a player session has a status.
func (h *testHost) seatIs(id string, want types.PlayerSessionStatus) {
	h.Helper()
	h.until("player session is "+string(want), func() error {
		if s := h.seat(id).Status; s != want {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
}

// RT-55, RL-102.
func TestAClientThatAnswersNoPingsIsLost(t *testing.T) {
	for _, mode := range []struct {
		name     string
		interval time.Duration // ping interval of the script; 0 uses the host's
		window   time.Duration
		after    time.Duration
		pings    int // pings that the responsive client has received by then
	}{
		{"at least 6 s", 0, 0, 6 * time.Second, 60},
		{"two intervals", 3500 * time.Millisecond, 0, 7 * time.Second, 2},
		{"detached", 0, 30 * time.Second, 6 * time.Second, 60},
	} {
		bubble(t, mode.name, func(t *testing.T) {
			g := &fakeGame{conf: script.Configuration{PingInterval: mode.interval}}
			h := startHost(t, func(c *host.Config) {
				c.Session.PingInterval, c.Reconnect.Window = 100*time.Millisecond, mode.window
			}, g.make)
			ids := h.seats(h.newGame(8), 3)
			good := h.join(ids[0], stock.Options{NoUDP: true})
			chatty := h.join(ids[1], stock.Options{Flavor: stock.TypeScript, NoPong: true}) // any data is a sign of life
			silent := h.join(ids[2], stock.Options{NoUDP: true, NoPong: true})
			start := time.Now()
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for {
					select {
					case <-silent.Done():
						return
					case <-time.After(500 * time.Millisecond):
						_ = chatty.Send(stock.Message{OpCode: 32, TargetPlayer: -1})
					}
				}
			}()
			h.awaitClose(silent, messages.ClosePingTimeout)
			if took := time.Since(start); took != mode.after {
				t.Errorf("dropped after %v, want %v", took, mode.after)
			}
			<-stop
			h.closedFor(messages.ClosePingTimeout, 1)
			h.talk(good, chatty)
			if pings := good.Stats().PingsReceived; pings != mode.pings {
				t.Errorf("%d pings in %v, want %d", pings, time.Since(start), mode.pings)
			}
			if mode.window == 0 {
				g.await(t, "onPlayerDisconnect 3 of [1 2 3]")
				h.seatIs(ids[2], types.PlayerSessionStatusCompleted)
			} else {
				h.detached(1)
				h.send(good, stock.Message{OpCode: 33, TargetPlayer: 3, Reliable: true})
				back := h.join(ids[2], stock.Options{})
				if h.expect(back, stock.Op(33)); back.PeerID() != 3 || g.count("onPlayerDisconnect") != 0 {
					t.Errorf("back as %d, calls %v", back.PeerID(), g.all())
				}
				h.checkReceived(back)
			}
			h.checkReceived(good, chatty, silent)
		})
	}
}

// RT-56.
func TestLosingOnlyUDPKeepsThePlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, strict, g.make)
		p := h.players(2, stock.Options{})
		for _, c := range p {
			if err := c.AwaitFast(h.context()); err != nil {
				t.Fatal(err)
			}
		}
		// both fast channels are confirmed, so it uses UDP for the whole way
		h.send(p[0], stock.Message{OpCode: 34, TargetPlayer: 2})
		h.expect(p[1], stock.OpVia(34, stock.ChannelUDP))
		p[1].CloseUDP()
		for i := range 20 { // these datagrams are lost, and ICMP errors come back
			h.send(p[0], stock.Message{OpCode: 35, TargetPlayer: 2, Payload: fmt.Append(nil, i)})
			h.talk(p[0], p[1])
			h.talk(p[1], p[0])
		}
		if err := p[0].AwaitFast(h.context()); err != nil {
			t.Fatal(err)
		}
		h.send(p[1], stock.Message{OpCode: 36, TargetPlayer: 1, Via: stock.ChannelWebSocket})
		h.expect(p[0], stock.Op(36)) // the recipient's UDP still works and is used
		if n := g.count("onPlayerDisconnect"); n != 0 || len(p) != 2 {
			t.Errorf("onPlayerDisconnect was called %d times", n)
		}
		g.do(t, func(s script.Session) {
			if got := peers(s); !slices.Equal(got, []messages.PeerID{1, 2}) {
				t.Errorf("players %v", got)
			}
		})
		h.checkReceived(p...)
	})
}

// TestHostStops: when a host stops, the players are told, onProcessTerminate is called, and the records are
// consistent with that.
func TestHostStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{terminating: func(s script.Session) {
			s.Send(script.Outgoing{OpCode: 51, Sender: -1, Payload: []byte("closing")}, script.ToGroup(-1).Reliably())
		}}
		h := startHost(t, nil, g.make)
		p := h.players(2, stock.Options{})
		h.host.Close()
		for _, c := range p {
			h.expect(c, stock.Op(51))
			h.awaitClose(c, messages.CloseGoingAway)
		}
		if n := g.count("onProcessTerminate"); n != 1 {
			t.Errorf("onProcessTerminate was called %d times", n)
		}
		if n := h.host.Counters().Connections.Total(); n != 0 {
			t.Errorf("%d connections left", n)
		}
		h.checkReceived(p...)
	})
}

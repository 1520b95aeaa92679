package client_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
)

// everywhere starts a host with all transports, without the limits that would slow down a player
// that keeps reconnecting.
func everywhere(t *testing.T, change func(*host.Config)) *bench {
	dir := filepath.Join(t.TempDir(), "tls")
	b := start(t, func(c *host.Config) {
		c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		c.TLS.Dir = dir
		c.DTLS.HalfOpenPerIP, c.DTLS.HellosPerIP = 0, 0
		l := &c.Limits
		l.PlayerMessagesPerSecond, l.PlayerBytesPerSecond, l.DeliveriesPerGameSessionPerSecond = 0, 0, 0
		l.LoginsPerPlayerSessionPerMinute, l.ResumesPerPlayerSessionPerMinute = 0, 0
		l.ConnectionsPerIPPerSecond, l.UnauthenticatedPerIP = 0, 0
		if change != nil {
			change(c)
		}
	})
	return b
}

// by returns options for one transport.
func (b *bench) by(t client.Transport) client.Options {
	a := b.host.Addrs()
	o := client.Options{Transport: t, Addr: a.WS, KCPAddr: a.KCP, TLS: &tls.Config{RootCAs: roots(b.T, a.CA), ServerName: "localhost"}}
	if t == client.WSS || t == client.Auto {
		o.Addr = a.WSS
	}
	return o
}

func (b *bench) enter(o client.Options) *client.Client {
	b.Helper()
	o.PlayerSessionID = b.reserve()
	c, err := client.Dial(b.ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Abort)
	return c
}

// numbered sends message n to the client itself, by way of the host.
func (b *bench) numbered(c *client.Client, n int) {
	b.Helper()
	m := client.Message{OpCode: 3, TargetPlayer: c.PeerID(), Payload: binary.BigEndian.AppendUint32(nil, uint32(n))}
	if err := c.Send(b.ctx, m); err != nil {
		b.Fatalf("message %d: %v", n, err)
	}
}

// TestResumes: over real sockets, a real host and every transport, a connection is dropped again
// and again, sometimes for a while. Every message comes back exactly once, in order.
func TestResumes(t *testing.T) {
	for _, over := range []client.Transport{client.WS, client.WSS, client.KCP, client.Auto} {
		t.Run(over.String(), func(t *testing.T) {
			b := everywhere(t, nil)
			c := b.enter(b.by(over))
			peer := c.PeerID()
			const count, every = 1000, 100
			go func() {
				for i := range count {
					b.numbered(c, i)
					if i%every == every-1 {
						c.Outage(time.Duration(i%3) * 20 * time.Millisecond)
					}
					time.Sleep(200 * time.Microsecond)
				}
			}()
			back := 0
			for i := 0; i < count; {
				select {
				case e := <-c.Events():
					switch e.Kind {
					case client.EventMessage:
						if n := binary.BigEndian.Uint32(e.Payload); int(n) != i {
							t.Fatalf("message %d comes as number %d", n, i)
						}
						i++
					case client.EventReconnected:
						back++
						if e.Reconnected.Transport != c.Transport() || e.Reconnected.PeerID != peer {
							t.Errorf("back as %+v, was peer %d", e.Reconnected, peer)
						}
					case client.EventGap:
						t.Errorf("a gap of %d", e.Gap.Lost)
					}
				case <-time.After(patience):
					t.Fatalf("message %d does not come; stats %+v, end %s", i, c.Stats(), c.End())
				}
			}
			if s := c.Stats(); back == 0 || s.Reconnects != uint64(back) || s.Lost > 0 {
				t.Errorf("%d times back, stats %+v", back, s)
			}
			c.Close()
		})
	}
}

// TestMoves: a client changes its transport again and again while messages flow.
func TestMoves(t *testing.T) {
	b := everywhere(t, nil)
	c := b.enter(b.by(client.WSS))
	next := 0
	for _, to := range []client.Transport{client.KCP, client.WSS, client.KCP, client.KCP, client.Auto} {
		for range 50 {
			b.numbered(c, next)
			next++
		}
		if err := c.Move(b.ctx, to); err != nil {
			t.Fatalf("to %s: %v; %s", to, err, b.ended(c))
		}
		if got := c.Transport(); got != to && to != client.Auto {
			t.Errorf("moved to %s, is on %s", to, got)
		}
	}
	for i := range next {
		if n := binary.BigEndian.Uint32(b.next(c, client.EventMessage).Payload); int(n) != i {
			t.Fatalf("message %d comes as number %d", n, i)
		}
	}
	if s := c.Stats(); s.Reconnects != 0 || s.Lost != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestAnotherDevice: a new Client for the same player session gets the messages that the previous
// Client has not acknowledged, and the previous one ends.
func TestAnotherDevice(t *testing.T) {
	b := everywhere(t, nil)
	o := b.by(client.WS)
	o.PlayerSessionID = b.reserve()
	var devices []*client.Client
	for i := range 3 {
		c, err := client.Dial(b.ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		b.Cleanup(c.Abort)
		devices = append(devices, c)
		for n := range 20 {
			b.numbered(c, 100*i+n)
		}
		for n := 0; n < 20; {
			got := int(binary.BigEndian.Uint32(b.next(c, client.EventMessage).Payload))
			switch {
			case got == 100*i+n:
				n++
			case got >= 100*i || n > 0: // else the previous device got it without acknowledging it
				t.Fatalf("device %d: message %d comes as number %d", i, got, n)
			}
		}
	}
	for _, c := range devices[:2] {
		if end := b.ended(c); end.Code != uint16(messages.CloseTakenOver) || end.Retry() != messages.RetryNever {
			t.Errorf("end %s", end)
		}
	}
}

// A player that returns after the window is refused, and the Client ends.
func TestAReturnAfterTheWindowIsRefused(t *testing.T) {
	b := everywhere(t, func(c *host.Config) { c.Reconnect.Window = time.Second })
	c := b.enter(b.by(client.WS))
	c.Outage(2 * time.Second)
	end := b.ended(c)
	if !errors.Is(end.Err, client.ErrRefused) || !errors.Is(end.Err, client.ErrGaveUp) {
		t.Errorf("end %s", end)
	}
}

// TestStrictHost: without a window no player comes back, and messages have no numbers.
func TestStrictHost(t *testing.T) {
	b := everywhere(t, func(c *host.Config) { c.Reconnect.Window = 0 })
	c := b.enter(b.by(client.WS))
	b.numbered(c, 1)
	b.next(c, client.EventMessage)
	c.NetworkChanged()
	if end := b.ended(c); !errors.Is(end.Err, client.ErrRefused) {
		t.Errorf("end %s", end)
	}
}

// TestFastComesBack: each new connection sets up its fast channel again.
func TestFastComesBack(t *testing.T) {
	for _, over := range []client.Transport{client.WS, client.KCP} {
		t.Run(over.String(), func(t *testing.T) {
			b := everywhere(t, nil)
			o := b.by(over)
			o.Fast = true
			c := b.enter(o)
			b.next(c, client.EventFastUp)
			for range 3 {
				c.NetworkChanged()
				b.next(c, client.EventReconnected)
				b.next(c, client.EventFastUp)
				if !c.FastUp() || c.FastErr() != nil {
					t.Errorf("not up: %v", c.FastErr())
				}
			}
		})
	}
}

// The program is told when its connection is lost and when it is back. Messages that it sends
// meanwhile arrive.
func ExampleOptions_onReconnected() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	game, err := startGame(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer game.host.Close()
	c, err := game.join(ctx, "ann", client.Options{
		Addr: game.host.Addrs().WS,
		OnReconnected: func(r client.Reconnected) {
			fmt.Println("back over", r.Transport, "as peer", r.PeerID)
		},
		OnGap: func(g client.Gap) {
			fmt.Println(g.Lost, "messages are lost: fetch the state of the game again")
		},
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	c.Outage(100 * time.Millisecond) // as in a tunnel
	for e := range c.Events() {
		switch e.Kind {
		case client.EventDetached:
			err := c.Send(ctx, client.Message{OpCode: 1, TargetPlayer: c.PeerID(), Payload: []byte("still here")})
			fmt.Println("away; sent:", err == nil)
		case client.EventMessage:
			fmt.Printf("%s\n", e.Payload)
			c.Close()
		}
	}
	// Output:
	// away; sent: true
	// back over ws as peer 1
	// still here
}

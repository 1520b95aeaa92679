package client_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
)

// each runs a test over every transport, with a new host for each.
func each(t *testing.T, test func(b *bench, over client.Transport)) {
	for over := client.WS; over <= client.Auto; over++ {
		bubble(t, over.String(), func(t *testing.T) { test(start(t, nil), over) })
	}
}

// Two players exchange messages over both channels, and join and leave a group.
func TestPlays(t *testing.T) {
	each(t, func(b *bench, over client.Transport) {
		o := b.by(over)
		o.Payload, o.Fast = make([]byte, client.PayloadMax), true
		one, two := b.enter(o), b.enter(b.by(over)) // without Options.Fast, two receives over a fast channel only with KCP
		if one.PeerID() != 1 || two.PeerID() != 2 {
			b.Errorf("peers %d and %d", one.PeerID(), two.PeerID())
		}
		if over == client.KCP && !one.FastUp() { // KCP's fast channel needs no handshake
			b.Error("the fast channel is not up after Dial")
		}
		b.next(one, client.EventFastUp)
		b.send(one, client.Message{OpCode: 10, TargetGroup: client.AllPlayers, Payload: []byte("all"), Intent: client.Reliable})
		for _, c := range []*client.Client{one, two} {
			e := b.next(c, client.EventMessage)
			if e.Sender != 1 || e.OpCode != 10 || e.TargetGroup != client.AllPlayers || string(e.Payload) != "all" || e.Fast {
				b.Errorf("got %+v", e)
			}
		}
		b.send(one, client.Message{OpCode: 11, TargetPlayer: 2, Payload: []byte("fast one way"), Intent: client.Fast})
		if e := b.next(two, client.EventMessage); e.TargetPlayer != 2 || string(e.Payload) != "fast one way" || e.Fast != (two.Transport() == client.KCP) {
			b.Errorf("got %+v", e)
		}
		b.send(one, client.Message{OpCode: 12, TargetPlayer: 1, Payload: make([]byte, client.FastPayloadMax), Intent: client.Fast})
		if e := b.next(one, client.EventMessage); e.TargetPlayer != 1 || len(e.Payload) != client.FastPayloadMax || !e.Fast {
			b.Errorf("got %+v", e)
		}
		b.send(two, client.Message{OpCode: 13, TargetPlayer: 1, Payload: make([]byte, client.FastPayloadMax+1), Intent: client.Fast})
		if e := b.next(one, client.EventMessage); e.Fast {
			b.Error("a large payload came by the fast channel")
		}
		if s := one.Stats(); s.Fast.Sent < 2 || s.Fast.Received < 1 {
			b.Errorf("stats %+v", s)
		}
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		if err := one.Send(ctx, client.Message{OpCode: 14, TargetPlayer: 2, Intent: client.Reliable}); !errors.Is(err, context.Canceled) {
			b.Errorf("with an ended context: %v", err)
		}

		membership := func(c *client.Client, sender int32, players ...int32) {
			b.Helper()
			if e := awaitKind(b.T, c, client.EventMembership); e.Group != 7 || e.Sender != sender || !slices.Equal(e.Players, players) {
				b.Errorf("got %+v, want players %v", e, players)
			}
		}
		err := one.JoinGroup(b.ctx, 7)
		membership(one, client.Server, 1)
		err = errors.Join(err, two.JoinGroup(b.ctx, 7))
		membership(one, client.Server, 1, 2)
		membership(two, client.Server, 1, 2)
		err = errors.Join(err, one.LeaveGroup(b.ctx, 7))
		membership(two, client.Server, 2)
		err = errors.Join(err, one.RequestMembership(b.ctx, 7))
		if membership(one, 1, 2); err != nil {
			b.Error(err)
		}
	})
}

// Close is a leave. Abort is a loss: the player may come back, as the same peer. A host that shuts down reports that.
func TestEnds(t *testing.T) {
	each(t, func(b *bench, over client.Transport) {
		o := b.by(over)
		o.Fast = true
		c := b.enter(o)
		if got := b.status(o.PlayerSessionID); got != types.PlayerSessionStatusActive {
			b.Errorf("in the game: %s", got)
		}
		c.Close()
		if got := b.status(o.PlayerSessionID); got != types.PlayerSessionStatusCompleted {
			b.Errorf("after Close: %s", got)
		}
		if end := c.End(); !end.Local || end.Err != nil || end.Retry() != messages.RetryNever || end.String() != "closed here" {
			b.Errorf("end %+v, %s", end, end)
		}
		for range c.Events() { // until it is closed
		}
		if err := c.JoinGroup(b.ctx, 1); !errors.Is(err, client.ErrClosed) || !errors.Is(err, net.ErrClosed) {
			b.Errorf("after Close: %v", err)
		}
		if err := c.Send(b.ctx, client.Message{OpCode: 10, TargetPlayer: 2, Intent: client.Fast}); !errors.Is(err, client.ErrClosed) {
			b.Errorf("after Close: %v", err)
		}
		c.Close()
		c.Abort()

		o = b.by(over)
		o.Reconnect = once
		c = b.enter(o)
		c.Abort()
		if end := c.End(); !end.Local || end.Code != 0 || end.Err != nil {
			b.Errorf("end %+v", end)
		}
		if got := b.status(o.PlayerSessionID); got != types.PlayerSessionStatusActive {
			b.Errorf("after Abort: %s", got)
		}
		back := b.enter(o)
		if back.PeerID() != c.PeerID() {
			b.Errorf("back as peer %d, was %d", back.PeerID(), c.PeerID())
		}
		b.host.Close()
		if end := ended(b.T, back); end.Code == 0 || end.Local {
			b.Errorf("end %+v", end)
		}
	})
}

// A connection is dropped again and again, sometimes for a while. Every message arrives exactly once and in order. Each
// new connection sets up its fast channel again.
func TestResumes(t *testing.T) {
	each(t, func(b *bench, over client.Transport) {
		o := b.by(over)
		o.Fast = true
		c := b.enter(o)
		b.next(c, client.EventFastUp)
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
			switch e := await(b.T, "event", c.Events()); e.Kind {
			case client.EventMessage:
				if n := binary.BigEndian.Uint32(e.Payload); int(n) != i {
					b.Fatalf("message %d comes as number %d", n, i)
				}
				i++
			case client.EventReconnected:
				back++
				if e.Reconnected.Transport != c.Transport() || e.Reconnected.PeerID != peer {
					b.Errorf("back as %+v, was peer %d", e.Reconnected, peer)
				}
			case client.EventGap:
				b.Errorf("a gap of %d", e.Gap.Lost)
			case 0:
				b.Fatalf("message %d does not come; stats %+v, end %s", i, c.Stats(), c.End())
			}
		}
		if s := c.Stats(); back == 0 || s.Reconnects != uint64(back) || s.Lost > 0 {
			b.Errorf("%d times back, stats %+v", back, s)
		}
		time.Sleep(10 * time.Second)
		for len(c.Events()) > 0 {
			<-c.Events()
		}
		c.NetworkChanged()
		awaitKind(b.T, c, client.EventDetached)
		awaitKind(b.T, c, client.EventReconnected)
		if awaitKind(b.T, c, client.EventFastUp); !c.FastUp() || c.FastErr() != nil {
			b.Errorf("not up: %v", c.FastErr())
		}
		c.Close()
	})
}

// lateConn is a connection whose reader learns late that it has been closed.
type lateConn struct{ net.Conn }

func (c lateConn) Read(b []byte) (n int, err error) {
	if n, err = c.Conn.Read(b); err != nil {
		time.Sleep(100 * time.Millisecond)
	}
	return n, err
}

// A client drops or replaces its connection. The host then closes the fast channel of that connection, which the client
// notices before its reader has ended. That is not a failure of the fast channel, so the program is not told of one.
func TestADroppedConnectionReportsNoFailureOfItsFastChannel(t *testing.T) {
	for _, over := range []client.Transport{client.WS, client.WSS} {
		bubble(t, over.String(), func(t *testing.T) {
			b := start(t, nil)
			o := b.by(over)
			o.Fast = true
			dial := o.DialContext
			o.DialContext = func(ctx context.Context, network string, from netip.Addr, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, from, addr)
				if err == nil && network == "tcp" {
					conn = lateConn{conn}
				}
				return conn, err
			}
			c := b.enter(o)
			awaitKind(t, c, client.EventFastUp)
			c.NetworkChanged()
			awaitKind(t, c, client.EventDetached)
			awaitKind(t, c, client.EventReconnected)
			awaitKind(t, c, client.EventFastUp)
			if err := c.Move(b.ctx, over); err != nil {
				t.Fatal(err)
			}
			awaitKind(t, c, client.EventFastDown) // once, about the replaced connection
			awaitKind(t, c, client.EventFastUp)
			time.Sleep(time.Second)
			if n := len(c.Events()); n != 0 {
				t.Errorf("%d more events, the first is %+v", n, <-c.Events())
			}
			c.Close()
		})
	}
}

// A client changes its transport again and again while messages are exchanged.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, nil)
		c := b.enter(b.by(client.WSS))
		next := 0
		for _, to := range []client.Transport{client.KCP, client.WSS, client.KCP, client.KCP, client.Auto} {
			for range 50 {
				b.numbered(c, next)
				next++
			}
			if err := c.Move(b.ctx, to); err != nil {
				t.Fatalf("to %s: %v; %s", to, err, ended(t, c))
			}
			if got := c.Transport(); got != to && to != client.Auto {
				t.Errorf("moved to %s, is on %s", to, got)
			}
		}
		for i := range next {
			if n := binary.BigEndian.Uint32(awaitKind(t, c, client.EventMessage).Payload); int(n) != i {
				t.Fatalf("message %d comes as number %d", n, i)
			}
		}
		if s := c.Stats(); s.Reconnects != 0 || s.Lost != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A new Client for the same player session gets the messages that the previous Client has not acknowledged. The previous Client ends.
func TestAnotherDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, nil)
		o := b.by(client.WS)
		var devices []*client.Client
		for i := range 3 {
			c := b.enter(o)
			devices = append(devices, c)
			for n := range 20 {
				b.numbered(c, 100*i+n)
			}
			for n := 0; n < 20; {
				got := int(binary.BigEndian.Uint32(awaitKind(t, c, client.EventMessage).Payload))
				switch {
				case got == 100*i+n:
					n++
				case got >= 100*i || n > 0: // the previous device may have received it without acknowledging it
					t.Fatalf("device %d: message %d comes as number %d", i, got, n)
				}
			}
		}
		for _, c := range devices[:2] {
			if end := ended(t, c); end.Code != uint16(messages.CloseTakenOver) || end.Reason != "taken_over" || end.Local || end.Retry() != messages.RetryNever {
				t.Errorf("end %s", end)
			}
		}
	})
}

// refusal is how long a host waits for the close frame of a client whose login it has refused.
const refusal = 50 * time.Millisecond

// A player that returns after the reconnect window is refused, and the Client ends. Without a window no player can
// come back, and messages are not numbered.
func TestAReturnAfterTheWindowIsRefused(t *testing.T) {
	for name, window := range map[string]time.Duration{"after": time.Second, "none": 0} {
		bubble(t, name, func(t *testing.T) {
			b := start(t, func(c *host.Config) { c.Reconnect.Window = window })
			c := b.enter(b.by(client.WS))
			b.numbered(c, 1)
			awaitKind(t, c, client.EventMessage)
			lost := time.Now()
			c.Outage(2 * window)
			if end := ended(t, c); !errors.Is(end.Err, client.ErrRefused) || !errors.Is(end.Err, client.ErrGaveUp) || time.Since(lost) != 2*window+refusal {
				t.Errorf("end %s after %v", end, time.Since(lost))
			}
		})
	}
}

// If nothing answers on UDP, all messages use the WebSocket.
func TestWithoutUDPEverythingGoesByWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(c *host.Config) { c.Fast.Enabled = false })
		o := b.by(client.WS)
		o.Fast = true
		c := b.enter(o)
		time.Sleep(time.Second) // handshakes are sent at 0, 100, 300 and 700 ms
		if s := c.Stats().Fast; s.Sent != 4 {
			t.Errorf("stats %+v", s)
		}
		b.send(c, client.Message{OpCode: 10, TargetPlayer: c.PeerID(), Intent: client.Fast})
		if e := awaitKind(t, c, client.EventMessage); e.Fast || c.FastUp() {
			t.Errorf("got %+v", e)
		}
	})
}

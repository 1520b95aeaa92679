package client_test

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"troupe/transport/client"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/nat"
)

// natted is two players: one behind a NAT, one not.
type natted struct {
	*bench
	nat      *nat.NAT
	in, away *client.Client
	next     uint32
	kinds    []client.EventKind // kinds of in's events, without messages
}

func behindNAT(t *testing.T, inner string, over client.Transport) *natted {
	t.Helper()
	b := everywhere(t, nil)
	n := &natted{bench: b, nat: nat.New(t, hosttest.System, inner)}
	a := b.host.Addrs()
	o := b.by(over)
	o.Fast = true
	n.away = b.enter(o)
	switch over {
	case client.WS:
		o.Addr = n.nat.TCP(a.WS)
		n.nat.UDP(a.Fast)
	case client.WSS:
		o.Addr = n.nat.TCP(a.WSS)
		n.nat.UDP(a.DTLS)
	case client.KCP:
		o.Addr, o.KCPAddr = net.JoinHostPort(inner, "1"), n.nat.UDP(a.KCP)
	}
	n.in = b.enter(o)
	for _, c := range []*client.Client{n.in, n.away} {
		b.next(c, client.EventFastUp)
	}
	n.plays("before", true)
	return n
}

// plays sends fast messages at 20 Hz in both directions until they arrive, by the
// fast channel if fast is set, else by either.
func (n *natted) plays(when string, fast bool) {
	n.Helper()
	var up, down time.Duration
	first, began := n.next+1, time.Now()
	arrived := func(c *client.Client) (yes bool) {
		for {
			select {
			case e := <-c.Events():
				if e.Kind == client.EventMessage {
					yes = yes || binary.BigEndian.Uint32(e.Payload) >= first && (e.Fast || !fast)
				} else if c == n.in {
					n.kinds = append(n.kinds, e.Kind)
				}
			default:
				return yes
			}
		}
	}
	for ; up == 0 || down == 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			n.Fatalf("%s: not back within %v: up %v, down %v; %v, events %v", when, patience, up, down, n.in.FastErr(), n.kinds)
		}
		n.next++
		payload := binary.BigEndian.AppendUint32(nil, n.next)
		n.send(n.in, client.Message{OpCode: 3, TargetPlayer: n.away.PeerID(), Payload: payload, Intent: client.Fast})
		n.send(n.away, client.Message{OpCode: 3, TargetPlayer: n.in.PeerID(), Payload: payload, Intent: client.Fast})
		if arrived(n.away) && up == 0 {
			up = time.Since(began)
		}
		if arrived(n.in) && down == 0 {
			down = time.Since(began)
		}
	}
	n.Logf("%s: up after %v, down after %v", when, up.Round(time.Millisecond), down.Round(time.Millisecond))
}

// told waits for an event of a kind at the player behind the NAT. It returns false if the player has lost its connection
// instead: on a machine that is too busy, nothing of it is heard for as long as that takes.
func (n *natted) told(kind client.EventKind) bool {
	n.Helper()
	began := time.Now()
	for late := time.After(patience); len(n.kinds) == 0; {
		select {
		case e := <-n.in.Events():
			if e.Kind != client.EventMessage {
				n.kinds = append(n.kinds, e.Kind)
			}
		case <-late:
			n.Fatalf("no %v within %v", kind, patience)
		}
	}
	switch n.kinds[0] {
	case kind:
	case client.EventDetached:
		n.Logf("detached after %v instead of %v", time.Since(began).Round(time.Millisecond), kind)
		return false
	default:
		n.Fatalf("%v, want %v", n.kinds, kind)
	}
	n.kinds = n.kinds[1:]
	n.Logf("%v after %v", kind, time.Since(began).Round(time.Millisecond))
	return true
}

// nats are the addresses that the NATs of each transport use. How soon a transport recovers is
// checked in virtual time: TestWatch, TestAFastHandshakeRepeatsUntilItIsAnswered, and the
// tests of packages kcp and fast. A busy machine only makes it later.
var nats = map[client.Transport]struct {
	inner, other, elsewhere string
	address                 bool // it survives another address; plain UDP falls back
}{
	client.WS:  {"127.0.1.1", "127.0.1.3", "127.0.1.2", false},
	client.WSS: {"127.0.2.1", "127.0.2.3", "127.0.2.2", true},
	client.KCP: {"127.0.3.1", "127.0.3.3", "127.0.3.2", true},
}

func TestNATChangesThePort(t *testing.T) {
	t.Parallel()
	for over, at := range nats {
		t.Run(over.String(), func(t *testing.T) {
			t.Parallel()
			n := behindNAT(t, at.inner, over)
			n.nat.Rebind()
			n.plays("another port", true)
			if !n.in.FastUp() || len(n.kinds) > 0 {
				t.Errorf("up %v, events %v", n.in.FastUp(), n.kinds)
			}
			if !at.address {
				return
			}
			time.Sleep(300 * time.Millisecond) // a pause without traffic
			n.nat.MoveTo(at.elsewhere)
			time.Sleep(800 * time.Millisecond)
			n.plays("another address", true)
			if !n.in.FastUp() || len(n.kinds) > 0 {
				t.Errorf("up %v, events %v", n.in.FastUp(), n.kinds)
			}
		})
	}
}

// The player is told that UDP is blocked and that it works again. In between, messages
// use the reliable channel.
func TestTheFastChannelFallsBackWhileUDPIsBlocked(t *testing.T) {
	t.Parallel()
	for over, at := range nats {
		t.Run(over.String(), func(t *testing.T) {
			t.Parallel()
			for try := 1; !fallsBack(t, over, at.other, at.elsewhere); try++ {
				if try == 3 {
					t.Fatal("the player has lost its connection each time")
				}
			}
		})
	}
}

// fallsBack returns false if the machine is too busy to tell.
func fallsBack(t *testing.T, over client.Transport, address, elsewhere string) bool {
	t.Helper()
	n := behindNAT(t, address, over)
	if over == client.WS {
		n.nat.MoveTo(elsewhere) // plain UDP may not change its address
	} else {
		n.nat.Block()
	}
	if over == client.KCP {
		n.told(client.EventDetached)
		n.nat.Rebind()
		if !n.told(client.EventReconnected) || !n.told(client.EventFastUp) {
			return false
		}
		n.plays("after", true)
		return true
	}
	if !n.told(client.EventFastDown) {
		return false
	}
	if n.in.FastUp() || !errors.Is(n.in.FastErr(), client.ErrFastSilent) {
		t.Errorf("up %v, %v", n.in.FastUp(), n.in.FastErr())
	}
	n.plays("by WebSocket", false)
	n.nat.MoveTo("127.0.0.1")
	if !n.told(client.EventFastUp) {
		return false
	}
	if !n.in.FastUp() || n.in.FastErr() != nil {
		t.Errorf("up %v, %v", n.in.FastUp(), n.in.FastErr())
	}
	n.plays("after", true)
	return true
}

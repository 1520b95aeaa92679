package client_test

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"troupe/transport/client"
	"troupe/transport/transporttest/nat"
)

// natted is two players: in is behind a NAT, away is not.
type natted struct {
	*bench
	nat      *nat.NAT
	in, away *client.Client
	next     uint32
	kinds    []client.EventKind // in's events since the last change, without messages
	changed  time.Time
}

const natInner, natElsewhere = "127.0.1.1", "127.0.1.2"

func behindNAT(t *testing.T, over client.Transport) *natted {
	t.Helper()
	b := start(t, nil)
	n := &natted{bench: b, nat: nat.New(t, b.net, natInner)}
	a := b.host.Addrs()
	o := b.by(over)
	o.Fast = true
	n.away = b.enter(o)
	o = b.by(over)
	o.Fast = true
	switch over {
	case client.WS:
		o.Addr = n.nat.TCP(a.WS)
		n.nat.UDP(a.Fast)
	case client.WSS:
		o.Addr = n.nat.TCP(a.WSS)
		n.nat.UDP(a.DTLS)
	case client.KCP:
		o.Addr, o.KCPAddr = net.JoinHostPort(natInner, "1"), n.nat.UDP(a.KCP)
	}
	n.in = b.enter(o)
	awaitKind(t, n.away, client.EventFastUp)
	awaitKind(t, n.in, client.EventFastUp)
	n.plays("before", true)
	time.Sleep(10 * time.Second) // the host follows only one change of address in 5 s
	return n
}

// change changes the NAT and records when.
func (n *natted) change(how func()) {
	n.kinds, n.changed = nil, time.Now()
	how()
}

// plays sends fast messages at 20 Hz in both directions until one has arrived in each. If fast is set, they must arrive
// over the fast channel, otherwise over either channel. It returns how long that took.
func (n *natted) plays(when string, fast bool) time.Duration {
	n.Helper()
	up, down := false, false
	first, began := n.next+1, time.Now()
	for ; ; time.Sleep(50 * time.Millisecond) {
		for _, c := range []*client.Client{n.in, n.away} {
			for len(c.Events()) > 0 {
				e := <-c.Events()
				arrived := e.Kind == client.EventMessage && binary.BigEndian.Uint32(e.Payload) >= first && (e.Fast || !fast)
				switch {
				case c == n.away:
					up = up || arrived
				case e.Kind == client.EventMessage:
					down = down || arrived
				default:
					n.kinds = append(n.kinds, e.Kind)
				}
			}
		}
		if up && down {
			return time.Since(began)
		}
		if time.Since(began) > patience {
			n.Fatalf("%s: not back within %v: up %v, down %v; %v, events %v", when, patience, up, down, n.in.FastErr(), n.kinds)
		}
		n.next++
		payload := binary.BigEndian.AppendUint32(nil, n.next)
		n.send(n.in, client.Message{OpCode: 3, TargetPlayer: n.away.PeerID(), Payload: payload, Intent: client.Fast})
		n.send(n.away, client.Message{OpCode: 3, TargetPlayer: n.in.PeerID(), Payload: payload, Intent: client.Fast})
	}
}

// told waits for an event of a kind. It returns the time between the change and the event.
func (n *natted) told(kind client.EventKind) time.Duration {
	n.Helper()
	for {
		if e := await(n.T, kind.String(), n.in.Events()); e.Kind == kind {
			return time.Since(n.changed)
		} else if e.Kind != client.EventMessage {
			n.Fatalf("%s, want %s", e.Kind, kind)
		}
	}
}

// The fast channel survives when a NAT changes the port. If it is encrypted, it also survives a change
// of the address. The program sees no event.
// RL-107 (over real sockets: the plan nat-rebind of troupe faults).
func TestNATChangesThePort(t *testing.T) {
	for over, most := range map[client.Transport]time.Duration{client.WS: 2100 * time.Millisecond, client.WSS: 100 * time.Millisecond, client.KCP: 100 * time.Millisecond} {
		bubble(t, over.String(), func(t *testing.T) {
			n := behindNAT(t, over)
			check := func(what string) {
				if took := n.plays(what, true); took > most || !n.in.FastUp() || len(n.kinds) > 0 {
					t.Errorf("%s: up %v after %v, events %v", what, n.in.FastUp(), took, n.kinds)
				}
			}
			n.change(n.nat.Rebind)
			check("another port")
			if over == client.WS {
				return // plain UDP cannot follow to another IP address
			}
			time.Sleep(300 * time.Millisecond) // a pause without traffic
			n.change(func() { n.nat.MoveTo(natElsewhere) })
			check("another address")
		})
	}
}

// The player is notified when UDP is blocked and when it works again. In between, messages use the reliable channel.
func TestTheFastChannelFallsBackWhileUDPIsBlocked(t *testing.T) {
	// A channel is down dead after the last datagram of the host. Because of the probes, that datagram
	// arrived at most quiet before the change.
	for over, c := range map[client.Transport]struct{ quiet, dead time.Duration }{
		client.WS: {time.Second, 3400 * time.Millisecond}, client.WSS: {600 * time.Millisecond, 2700 * time.Millisecond}, client.KCP: {560 * time.Millisecond, 2800 * time.Millisecond},
	} {
		bubble(t, over.String(), func(t *testing.T) {
			n := behindNAT(t, over)
			within := func(kind client.EventKind, least, most time.Duration) {
				t.Helper()
				if took := n.told(kind); took < least || took > most {
					t.Errorf("%s after %v, want %v to %v", kind, took, least, most)
				}
			}
			if over == client.WS {
				n.change(func() { n.nat.MoveTo(natElsewhere) }) // plain UDP cannot follow to another IP address
			} else {
				n.change(n.nat.Block)
			}
			if over == client.KCP {
				within(client.EventDetached, c.dead-c.quiet, c.dead)
				n.change(n.nat.Rebind)
				within(client.EventReconnected, 0, 100*time.Millisecond) // the wait that Reconnect documents
				within(client.EventFastUp, 0, 100*time.Millisecond)
				n.plays("after", true)
				return
			}
			within(client.EventFastDown, c.dead-c.quiet, c.dead)
			if n.in.FastUp() || !errors.Is(n.in.FastErr(), client.ErrFastSilent) {
				t.Errorf("up %v, %v", n.in.FastUp(), n.in.FastErr())
			}
			n.plays("by WebSocket", false)
			n.change(func() { n.nat.MoveTo("127.0.0.1") })
			within(client.EventFastUp, 0, 400*time.Millisecond) // the handshake repeats lost packets
			if !n.in.FastUp() || n.in.FastErr() != nil {
				t.Errorf("up %v, %v", n.in.FastUp(), n.in.FastErr())
			}
			n.plays("after", true)
		})
	}
}

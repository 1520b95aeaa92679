package fast

import (
	"net/netip"
	"testing"

	"troupe/messages"
	"troupe/messages/counters"
)

// otherPort returns the same client behind a NAT that has changed the port of its mapping. The client
// does not notice: it continues its numbers.
func (c *client) otherPort(ip string) *client {
	c.t.Helper()
	other := c.host.client(ip, c.to.Port(), c.peer)
	other.seq = c.seq
	return other
}

// TestMovedByData covers a client that never repeats the handshake (a stock one). Its data is accepted from its new
// port, but it gets nothing there. After a handshake it gets data again.
func TestMovedByData(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	c.data("before")
	in.next(t)
	other := c.otherPort("127.0.0.1")
	h.clock.advance(silence - 1)
	other.data("too early")
	h.dropped(counters.DropFastWrongAddress, 1)
	if !a.Ready() {
		t.Fatal("not ready while the address may be alive")
	}
	h.clock.advance(1)
	for _, text := range []string{"one", "two"} {
		other.data(text)
		if got := in.next(t); string(got.Payload) != text {
			t.Fatalf("got %q", got.Payload)
		}
	}
	if a.Ready() || send(a, "secret") || a.Addr() != other.addr() {
		t.Fatalf("ready for an address that proved nothing, bound to %v", a.Addr())
	}
	other.connect()
	other.serverAck(1)
	other.data("three")
	in.next(t)
	if a.Ready() {
		t.Fatal("data proves nothing here")
	}
	other.ack()
	h.ready(a, true)
	send(a, "back")
	other.message("back", 2)
}

// TestDoubted covers a peer whose datagrams seem to come from another IP address. It is not ready until it is heard
// from its own address again. Peers with the same id in other game sessions stay ready, unless they are silent as well.
// Peers that only receive stay ready, too.
func TestDoubted(t *testing.T) {
	h := newHost(t, nil)
	open := func(ip string) (*Association, inbox, *client) {
		a, in := h.open(1, netip.MustParseAddr(ip))
		return a, in, h.confirm(a, ip)
	}
	a, inA, c := open("127.0.0.1")
	speaking, inB, d := open("127.0.0.3")
	listening, _, _ := open("127.0.0.4")
	if a.Port() != speaking.Port() || a.Port() != listening.Port() {
		t.Fatal("not on one socket")
	}
	h.clock.advance(recent)
	c.data("x")
	d.data("x")
	inA.next(t)
	inB.next(t)
	moved := c.otherPort("127.0.0.2")
	h.clock.advance(silence - 1)
	moved.data("too early")
	h.dropped(counters.DropFastWrongAddress, 1)
	d.data("still here")
	inB.next(t)
	if !a.Ready() {
		t.Fatal("not ready while the address may be alive")
	}
	h.clock.advance(strayEvery)
	moved.data("from elsewhere")
	h.dropped(counters.DropFastWrongAddress, 2)
	h.ready(a, false)
	if !speaking.Ready() || !listening.Ready() {
		t.Fatalf("speaking ready %v, listening ready %v", speaking.Ready(), listening.Ready())
	}
	c.data("it was somebody else")
	inA.next(t)
	h.ready(a, true)
	inA.empty(t)
}

// TestRestart covers a client that reports over its reliable channel that it receives nothing. It may repeat the
// handshake at once from any port of its IP address.
func TestRestart(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	a.Restart()
	if a.Addr().IsValid() {
		t.Fatal("bound")
	}
	c := h.confirm(a, "127.0.0.1")
	a.Restart()
	if a.Ready() || h.count.Connections.Get(counters.UDP) != 0 {
		t.Fatal("still ready")
	}
	other := c.otherPort("127.0.0.1")
	other.connect()
	other.serverAck(1)
	other.ack()
	h.ready(a, true)
	a.Restart()
	other.data("alive after all")
	in.next(t)
	h.ready(a, true)
	c.data("the old port") // two addresses are active
	h.ready(a, false)
	a.Restart()
	other.connect()
	h.dropped(counters.DropFastContested, 2)
	a.Close()
	a.Restart()
}

// TestNamesakesComeAndGo checks that the list of associations with the same peer id is kept up to date.
func TestNamesakesComeAndGo(t *testing.T) {
	h := newHost(t, nil)
	var all []*Association
	ip := local
	for range 5 {
		a, _ := h.open(messages.PeerID(1), ip)
		all, ip = append(all, a), ip.Next()
	}
	for left := 4; len(all) > 0; left-- {
		i := left / 2
		all[i].Close()
		all = append(all[:i], all[i+1:]...)
		n := h.main.ids[1]
		if left == 0 {
			if n != nil {
				t.Fatal("an empty list stays")
			}
			break
		}
		for place, a := range n.all {
			if int(a.index) != place || len(n.all) != left {
				t.Fatalf("%d left, place %d is %d", len(n.all), place, a.index)
			}
		}
	}
}

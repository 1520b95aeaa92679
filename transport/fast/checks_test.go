package fast

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// The checks of realtime.md 21, as far as this layer is responsible for them.

// Each -5 is answered from the announced port. The -6 and the messages share one series of numbers.
// RT-20, RT-21, RT-25.
func TestConnectsAreAnsweredWithRisingNumbers(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	if a.Port() == 0 || a.Port() != h.Port() {
		t.Fatalf("announced %d, main port %d", a.Port(), h.Port())
	}
	c := h.client("127.0.0.1", a.Port(), 1)
	for range 10 {
		c.connect()
	}
	for n := range int32(10) {
		c.serverAck(n) // receive checks the source address
	}
	if a.Ready() || a.Addr() != c.addr() {
		t.Fatalf("ready %v, address %v, want %v", a.Ready(), a.Addr(), c.addr())
	}
	in.empty(t)
	c.ack()
	h.ready(a, true)
	for n := int32(10); n < 40; n += 4 {
		c.connect()
		c.serverAck(n)
		for i := range int32(3) {
			if !send(a, "m") {
				t.Fatal("not sent")
			}
			c.message("m", n+1+i)
		}
	}
}

// RT-22.
func TestReadyOnlyAfterTheAck(t *testing.T) {
	for _, implied := range []bool{false, true} {
		t.Run(fmt.Sprint("implied=", implied), func(t *testing.T) {
			h := newHost(t, nil)
			a, in := h.open(1, local)
			if send(a, "early") {
				t.Fatal("sent before any datagram")
			}
			c := h.client("127.0.0.1", a.Port(), 1)
			c.connect()
			c.serverAck(0)
			if a.Ready() || send(a, "early") || h.count.Connections.Get(counters.UDP) != 0 {
				t.Fatal("ready before the ack")
			}
			if implied {
				c.data("first")
				if got := in.next(t); string(got.Payload) != "first" {
					t.Fatalf("got %+v", got)
				}
			} else {
				c.ack()
			}
			h.ready(a, true)
			if !send(a, "now") {
				t.Fatal("not sent")
			}
			c.message("now", 1) // refused sends have not used up a number
			if n := h.count.Connections.Get(counters.UDP); n != 1 {
				t.Fatalf("gauge %d", n)
			}
			in.empty(t) // -5 and -7 are not delivered
		})
	}
}

// RT-26.
func TestOldAndDuplicatedAreDropped(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	c.raw(message(1, 10, "ten"))
	c.raw(message(1, 10, "again"))
	c.raw(message(1, 9, "older"))
	c.raw(message(1, 0, "zero"))
	c.raw(message(1, 12, "twelve"))
	for _, want := range []string{"ten", "twelve"} {
		if got := in.next(t); string(got.Payload) != want {
			t.Fatalf("got %q, want %q", got.Payload, want)
		}
	}
	h.dropped(counters.DropFastStale, 3)
	in.empty(t)
}

// RT-27.
func TestEachRecipientHasItsOwnNumbers(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	b, _ := h.open(2, local)
	ca, cb := h.confirm(a, "127.0.0.1"), h.confirm(b, "127.0.0.1")
	for range 5 { // b's numbers are ahead of a's
		send(b, "only b")
	}
	for n := range int32(5) {
		cb.message("only b", n+1)
	}
	ca.raw(message(1, 1000, "relayed"))
	got := in.next(t)
	f := wire.NewFrame(&wire.Header{OpCode: got.OpCode, TargetGroup: wire.AllPlayers, Sender: 1, Payload: got.Payload})
	defer f.Release()
	if !a.Send(f) || !b.Send(f) {
		t.Fatal("not sent")
	}
	ca.message("relayed", 1)
	cb.message("relayed", 6)
}

// RT-28 is the gateway's task. This layer refuses only what does not fit a datagram.
func TestTooLargeIsNotSent(t *testing.T) {
	h := newHost(t, nil)
	a, _ := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	largest := 0
	for size := 1200; size <= datagramMax; size++ {
		f := wire.NewFrame(&wire.Header{OpCode: 7, Sender: 1, Payload: make([]byte, size)})
		sent := a.Send(f)
		if sent {
			largest = max(largest, len(f.AppendFast(nil, 1<<31-1)))
			c.receive()
		}
		if want := f.Len() <= frameMax; sent != want {
			t.Fatalf("%d bytes of payload: sent %v", size, sent)
		}
		f.Release()
	}
	if largest > datagramMax || largest < datagramMax-8 {
		t.Fatalf("largest datagram %d", largest)
	}
	if h.count.Dropped.Get(counters.DropPayloadTooLarge) == 0 {
		t.Fatal("not counted")
	}
}

func TestNeverMalformedNeverPastTheFirstUnit(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	c.raw(append(message(1, c.next(), "one"), message(1, c.next(), "two")...))
	if got := in.next(t); string(got.Payload) != "one" {
		t.Fatalf("got %+v", got)
	}
	padded := append(message(1, c.next(), "padded"), make([]byte, datagramMax)...)
	c.raw(padded[:datagramMax])
	if got := in.next(t); string(got.Payload) != "padded" {
		t.Fatalf("got %+v", got)
	}
	long := append(message(1, c.next(), "too long"), make([]byte, datagramMax)...)
	c.raw(long[:datagramMax+1])
	c.raw([]byte{0x05, 0x01})
	c.raw([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	c.raw(message(1, -3, "below zero"))
	h.dropped(counters.DropFastMalformed, 4)
	c.raw(nil) // an empty datagram
	h.dropped(counters.DropFastMalformed, 5)
	in.empty(t)
}

func TestBothFamilies(t *testing.T) {
	for _, addr := range []string{":0", "[::]:0"} {
		t.Run(addr, func(t *testing.T) {
			probe, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback})
			if err != nil {
				t.Skip("no IPv6 here: ", err)
			}
			_ = probe.Close()
			h := newHost(t, func(o *Options) { onSockets(o); o.Addr = addr })
			// The WebSocket's address may be in its mapped form.
			a, in4 := h.open(1, netip.MustParseAddr("::ffff:127.0.0.1"))
			b, in6 := h.open(2, netip.IPv6Loopback())
			if a.Port() != b.Port() {
				t.Fatalf("ports %d and %d", a.Port(), b.Port())
			}
			c4, c6 := h.confirm(a, "127.0.0.1"), h.confirm(b, "::1")
			if got := a.Addr().Addr(); got != local {
				t.Fatalf("bound to %v", got)
			}
			send(a, "four")
			send(b, "six")
			c4.message("four", 1)
			c6.message("six", 1)
			c4.data("4")
			c6.data("6")
			in4.next(t)
			in6.next(t)
		})
	}
}

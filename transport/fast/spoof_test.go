package fast

import (
	"testing"
	"time"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// The spoofing suite: RL-206, together with TestBinding and FuzzUDPDatagram (RL-27). Each test fails if its guard is removed.

// RT-23, D-107, RT-24.
func TestSpoof_OtherIPIsRefused(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	spoofer := h.client("127.0.0.2", a.Port(), 1)
	spoofer.connect()
	spoofer.ack()
	spoofer.data("x")
	h.dropped(counters.DropFastWrongAddress, 3)
	if n := h.count.Writes.Get(counters.UDP); n != 0 || a.Ready() || a.Addr().IsValid() {
		t.Fatalf("%d writes, ready %v, bound to %v", n, a.Ready(), a.Addr())
	}
	c := h.confirm(a, "127.0.0.1")
	h.clock.advance(time.Minute)
	spoofer.seq = c.seq
	spoofer.connect()
	spoofer.data("x")
	h.dropped(counters.DropFastWrongAddress, 5)
	send(a, "mine")
	c.message("mine", 1)
	in.empty(t)
}

func TestSameIPOff(t *testing.T) {
	h := newHost(t, func(o *Options) { o.SameIP = false })
	a, in := h.open(1, local)
	b, _ := h.open(1, local.Next()) // with SameIP off, the id alone is the key
	if a.Port() == b.Port() {
		t.Fatal("two peers with one key")
	}
	c := h.confirm(a, "127.0.0.3") // its NAT sends UDP from another address
	c.data("x")
	in.next(t)
	spoofer := h.client("127.0.0.2", a.Port(), 1)
	spoofer.seq = c.seq
	h.clock.advance(time.Minute)
	spoofer.connect() // plausible except for its IP
	spoofer.data("x")
	h.dropped(counters.DropFastWrongAddress, 2)
	c.data("y")
	in.next(t)
	in.empty(t)
}

func TestContested(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	h.clock.advance(time.Second)
	spoofer := h.client("127.0.0.1", a.Port(), 1)
	spoofer.seq = c.seq
	spoofer.connect()
	h.dropped(counters.DropFastWrongAddress, 1)
	h.clock.advance(time.Second)
	c.data("still here")
	h.ready(a, false)
	c.connect()
	spoofer.connect()
	spoofer.data("x")
	h.dropped(counters.DropFastContested, 4)
	if send(a, "x") {
		t.Fatal("sent to a contested peer")
	}
	h.wrote(1) // the -6 of the handshake
	in.empty(t)
	if n := h.count.Connections.Get(counters.UDP); n != 0 {
		t.Fatalf("gauge %d", n)
	}
	// The next login starts in a new state.
	a.Close()
	b, _ := h.open(1, local)
	h.confirm(b, "127.0.0.1")
}

// Datagrams that were queued for a binding are not sent if that binding ends before. Acks are
// sent, because they contain no game data.
func TestQueuedGameDataDiesWithItsBinding(t *testing.T) {
	p, conn := quietPool(t, nil)
	a, err := p.Open(1, local, inbox(nil))
	if err != nil {
		t.Fatal(err)
	}
	from := clientAddr(1)
	p.main.handle(from, wire.AppendUDPConnect(nil, 1, 0))
	p.main.handle(from, wire.AppendClientAck(nil, 1, 1))
	if !a.Ready() || !send(a, "x") {
		t.Fatal("not ready")
	}
	a.Close()
	conn.drain(p.main)
	if len(conn.written) != 1 { // only the -6
		t.Fatalf("%d datagrams written, want the ack alone", len(conn.written))
	}
}

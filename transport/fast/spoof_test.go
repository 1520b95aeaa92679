package fast

import (
	"testing"
	"time"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// The spoofing suite: RL-206 and RL-27. Each test fails when its guard is taken out.

func TestSpoof_UnknownSenderGetsNothingAndLeavesNothing(t *testing.T) {
	h := newHost(t, nil)
	c := h.client("127.0.0.1", h.Port(), 1)
	for peer := int32(-2); peer < 100; peer++ {
		c.raw(wire.AppendUDPConnect(nil, peer, 0))
		c.raw(wire.AppendClientAck(nil, peer, 1))
	}
	h.dropped(counters.DropFastUnknownSender, 204)
	if st := h.Stats(); st.Associations != 0 || st.Sockets != 1 {
		t.Fatalf("%+v", st)
	}
	if n := h.count.Writes.Get(counters.UDP); n != 0 {
		t.Fatalf("%d datagrams sent", n)
	}
}

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
	b, _ := h.open(1, local.Next()) // the id alone is the key now
	if a.Port() == b.Port() {
		t.Fatal("two peers with one key")
	}
	c := h.confirm(a, "127.0.0.3") // its NAT sends UDP out elsewhere
	c.data("x")
	in.next(t)
	spoofer := h.client("127.0.0.2", a.Port(), 1)
	spoofer.seq = c.seq
	h.clock.advance(time.Minute)
	spoofer.connect() // plausible but for its IP
	spoofer.data("x")
	h.dropped(counters.DropFastWrongAddress, 2)
	c.data("y")
	in.next(t)
	in.empty(t)
}

func TestSpoof_ReplayIsRefused(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.client("127.0.0.1", a.Port(), 1)
	first := wire.AppendUDPConnect(nil, 1, c.next())
	c.raw(first)
	c.serverAck(0)
	for range 20 {
		c.raw(first)
	}
	h.dropped(counters.DropFastStale, 20)
	h.wrote(1)
	c.ack()
	h.ready(a, true)
	c.raw(first)
	h.dropped(counters.DropFastStale, 21)
	in.empty(t)
}

// RL-27: bytes out are at most three times the bytes in, for every prefix of what
// an address sends before it is confirmed.
func TestSpoof_Amplification(t *testing.T) {
	h := newHost(t, nil)
	const peer = 1 << 30 // five bytes as a varint: the largest -6
	h.open(peer, local)
	c := h.client("127.0.0.1", h.Port(), peer)
	bare := func(seq int32) []byte { // the shortest -5
		return wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpUDPConnect, Sender: peer, Sequence: seq})
	}
	short := wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpUDPConnect, Sender: 1})
	h.open(1, local)
	refused := int64(0)
	for n := range int32(300) {
		c.raw(short)
		refused++
		in := c.sent
		request := bare(n * 1000)
		if n%2 == 0 {
			request = wire.AppendUDPConnect(nil, peer, n*1000)
		}
		c.raw(request)
		if got := c.receive(); got.OpCode != wire.OpServerAck {
			t.Fatalf("got %+v", got)
		}
		if answer := c.got; answer > 3*c.sent || c.sent-in != len(request) {
			t.Fatalf("%d bytes out for %d in", answer, c.sent)
		}
	}
	h.dropped(counters.DropFastMalformed, refused)
	h.wrote(300)
	eventually(t, "bytes counted", func() bool { return h.count.BytesOut.Get(counters.UDP) == int64(c.got) })
	t.Logf("%d bytes in, %d bytes out: %.2f", c.sent, c.got, float64(c.got)/float64(c.sent))
}

func TestSpoof_NoGameDataToAnAddressThatIsNotConfirmed(t *testing.T) {
	h := newHost(t, nil)
	a, _ := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")
	h.clock.advance(3 * time.Second)
	thief := h.client("127.0.0.1", a.Port(), 1)
	thief.seq = c.seq
	thief.connect() // moves, to be confirmed
	thief.serverAck(1)
	if a.Ready() || send(a, "secret") {
		t.Fatal("ready for an address that proved nothing")
	}
	if n := h.count.Connections.Get(counters.UDP); n != 0 {
		t.Fatalf("gauge %d", n)
	}
}

func TestMovedAddress(t *testing.T) {
	h := newHost(t, nil)
	a, in := h.open(1, local)
	c := h.confirm(a, "127.0.0.1")

	claim := func(number int32) *client {
		other := h.client("127.0.0.1", a.Port(), 1)
		other.seq = number
		other.connect()
		return other
	}
	h.clock.advance(3 * time.Second)
	claim(1)    // not above the highest
	claim(4098) // 4097 above
	h.dropped(counters.DropFastWrongAddress, 2)
	moved := claim(4097)
	moved.serverAck(1)
	moved.ack()
	h.ready(a, true)
	send(a, "moved")
	moved.message("moved", 2)
	c.data("left behind")
	eventually(t, "dropped", func() bool { return h.count.Dropped.Get(counters.DropFastContested) == 1 })
	h.ready(a, false)

	// A fresh login is not bound by the past of the last one.
	a.Close()
	again, in2 := h.open(1, local)
	c2 := h.confirm(again, "127.0.0.1")
	h.clock.advance(5*time.Second - 1)
	first := h.client("127.0.0.1", again.Port(), 1)
	first.seq = 2
	first.connect()
	first.serverAck(1)
	first.ack()
	h.ready(again, true)
	h.clock.advance(5*time.Second - 1)
	second := h.client("127.0.0.1", again.Port(), 1)
	second.seq = first.seq
	second.connect()
	h.dropped(counters.DropFastWrongAddress, 3) // one move in 5 s
	h.clock.advance(1)
	second.connect()
	second.serverAck(2)
	c2.data("too late")
	h.dropped(counters.DropFastWrongAddress, 4)
	in.empty(t)
	in2.empty(t)
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
	// The next login starts clean.
	a.Close()
	b, _ := h.open(1, local)
	h.confirm(b, "127.0.0.1")
}

// What was queued for a binding that ended before the writer came to it stays
// unsent; acks, which hold nothing, go.
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
	if len(conn.written) != 1 { // the -6
		t.Fatalf("%d datagrams written, want the ack alone", len(conn.written))
	}
}

package fast

import (
	"testing"

	"troupe/messages/wire"
)

// upPool returns a quiet pool with one confirmed peer.
func upPool(t testing.TB) (*Pool, *fakeConn, *Association) {
	t.Helper()
	p, conn := quietPool(t, nil)
	conn.discard = true
	a, err := p.Open(1, local, discardAll{})
	if err != nil {
		t.Fatal(err)
	}
	p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
	p.main.handle(clientAddr(1), wire.AppendClientAck(nil, 1, 1))
	if !a.Ready() {
		t.Fatal("not ready")
	}
	return p, conn, a
}

func noAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates: run without -race")
	}
	if n := testing.AllocsPerRun(2000, f); n != 0 {
		t.Errorf("%s: %v allocations per run", what, n)
	}
}

func TestSendAllocatesNothing(t *testing.T) {
	p, _, a := upPool(t)
	f := wire.NewFrame(&wire.Header{OpCode: 7, Sender: 2, Payload: make([]byte, 100)})
	defer f.Release()
	w := newWriter(p.main)
	noAllocs(t, "Send and write", func() {
		if !a.Send(f) {
			t.Fatal("not sent")
		}
		w.round()
	})
}

func TestInboundAllocatesNothing(t *testing.T) {
	p, conn, _ := upPool(t)
	number, buf := int32(2), make([]byte, 0, 256)
	hello, stranger := make([]byte, 100), message(17, 0, "x")
	next := func(op int32) []byte {
		number++
		buf = wire.AppendMessage(buf[:0], &wire.Header{OpCode: op, Sequence: number, TargetPlayer: -1, Sender: 1, Payload: hello})
		return buf
	}
	noAllocs(t, "data", func() { p.main.handle(clientAddr(1), next(7)) })
	noAllocs(t, "stale", func() { p.main.handle(clientAddr(1), buf) })
	noAllocs(t, "wrong address", func() { p.main.handle(clientAddr(9), buf) })
	noAllocs(t, "other IP", func() { p.main.handle(clientAddr(9), stranger) })
	noAllocs(t, "malformed", func() { p.main.handle(clientAddr(1), hello) })
	conn.drain(p.main)
	w := newWriter(p.main)
	noAllocs(t, "-5 and its answer", func() {
		p.main.handle(clientAddr(1), next(wire.OpUDPConnect))
		w.round()
	})
}

// The complete path over real sockets allocates nothing: reader and writer of both sides.
func TestEchoAllocatesNothing(t *testing.T) {
	h := newHost(t, onSockets)
	e := &echo{}
	a, err := h.Open(1, local, e)
	if err != nil {
		t.Fatal(err)
	}
	e.a = a
	e.f = wire.NewFrame(&wire.Header{OpCode: 7, Sender: 1, TargetPlayer: 1, Payload: make([]byte, 100)})
	defer e.f.Release()
	c := h.confirm(a, "127.0.0.1")
	buf, unit := make([]byte, datagramMax), make([]byte, 0, 256)
	noAllocs(t, "echo", func() {
		unit = wire.AppendMessage(unit[:0], &wire.Header{OpCode: 7, Sequence: c.next(), TargetPlayer: 1, Sender: 1})
		if _, err := c.conn.WriteToUDPAddrPort(unit, c.to); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.conn.ReadFromUDPAddrPort(buf); err != nil {
			t.Fatal(err)
		}
	})
}

// echo answers every packet with f.
type echo struct {
	a *Association
	f *wire.Frame
}

func (e *echo) OnFast([]byte) { e.a.Send(e.f) }

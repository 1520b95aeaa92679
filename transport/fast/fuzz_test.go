package fast

import (
	"encoding/hex"
	"net/netip"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// FuzzUDPDatagram passes arbitrary datagrams to the demultiplexer of a socket with three peers. The input is a list of
// datagrams. Each has one byte for the source (low two bits) and the time before it (next two bits), one byte for the
// length, and then its bytes. The test checks: no panic; no state for unknown peers; RL-27 for every address; delivered
// packets are new and come from the bound address; every answer is a -6 with the peer's next number.
func FuzzUDPDatagram(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		cl := new(clock)
		p, conn := quietPool(t, func(o *Options) { o.Now = cl.now })
		peers := map[messages.PeerID]*Association{}
		handler := &watch{t: t, highest: map[messages.PeerID]int32{}, peers: peers}
		for _, peer := range []messages.PeerID{1, 2, 1<<31 - 1} {
			a, err := p.Open(peer, local, handler)
			if err != nil {
				t.Fatal(err)
			}
			peers[peer] = a
		}
		sources := [4]netip.AddrPort{clientAddr(1), clientAddr(2), netip.AddrPortFrom(local.Next(), 1), netip.MustParseAddrPort("[2001:db8::1]:1")}
		waits := [4]time.Duration{0, time.Millisecond, 2 * time.Second, 5 * time.Second}
		in, numbers := map[netip.AddrPort]int{}, map[int32]int32{}
		for len(input) >= 2 {
			from, wait, size := sources[input[0]&3], waits[input[0]>>2&3], min(int(input[1]), len(input)-2)
			datagram := input[2 : 2+size : 2+size]
			input = input[2+size:]
			cl.advance(wait)
			in[from] += size
			handler.from = from

			before := len(conn.written)
			p.main.handle(from, datagram)
			conn.drain(p.main)

			for _, w := range conn.written[before:] {
				peer := checkAnswer(t, w, from, size, numbers)
				handler.highest[peer] = sequence(datagram)
			}
			if len(conn.written)-before > 1 {
				t.Fatal("two answers to one datagram")
			}
			for _, a := range peers {
				if a.Addr().IsValid() && a.Addr().Addr() != local {
					t.Fatalf("bound to %v", a.Addr())
				}
			}
		}
		out := map[netip.AddrPort]int{}
		for _, w := range conn.written {
			out[w.to] += len(w.bytes)
		}
		for to, n := range out {
			if n > 3*in[to] {
				t.Fatalf("%d bytes to %v for %d", n, to, in[to])
			}
		}
		if len(p.main.peers) != 3 || len(p.main.ids) != 3 || len(p.sockets) != 1 || p.main.out.length() != 0 {
			t.Fatal("state grew")
		}
		confirmedNow := int64(0)
		for _, a := range peers {
			if a.Ready() {
				confirmedNow++
			}
		}
		if n := p.opt.Counters.Connections.Get(counters.UDP); n != confirmedNow {
			t.Fatalf("gauge %d, confirmed %d", n, confirmedNow)
		}
	})
}

// sequence returns the number of a datagram, or 0 if it is malformed.
func sequence(datagram []byte) int32 {
	var h wire.Header
	if packet, err := wire.SplitUnit(datagram); err == nil {
		_ = h.Parse(packet)
	}
	return h.Sequence
}

// checkAnswer checks one written datagram against the rules and returns its peer.
func checkAnswer(t *testing.T, w written, from netip.AddrPort, size int, numbers map[int32]int32) messages.PeerID {
	t.Helper()
	var h wire.Header
	packet, err := wire.SplitUnit(w.bytes)
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		t.Fatalf("malformed datagram sent: %x", w.bytes)
	}
	if w.to != from || h.OpCode != wire.OpServerAck || len(w.bytes) > 3*size {
		t.Fatalf("%d bytes from %v answered by %d to %v: %+v", size, from, len(w.bytes), w.to, h)
	}
	if want := numbers[h.TargetPlayer]; h.Sequence != want {
		t.Fatalf("number %d to %d, want %d", h.Sequence, h.TargetPlayer, want)
	}
	numbers[h.TargetPlayer]++
	return messages.PeerID(h.TargetPlayer)
}

// watch is the Handler of the fuzz test.
type watch struct {
	t       *testing.T
	from    netip.AddrPort
	highest map[messages.PeerID]int32 // number of the last -5 that was answered or packet that was delivered
	peers   map[messages.PeerID]*Association
}

func (w *watch) OnFast(packet []byte) {
	var h wire.Header
	if err := h.Parse(packet); err != nil {
		w.t.Fatal("malformed packet delivered")
	}
	a := w.peers[messages.PeerID(h.Sender)]
	switch {
	case a == nil || !a.Ready() && !wentWithData(a) || a.Addr() != w.from:
		w.t.Fatalf("%+v delivered from %v", h, w.from)
	case h.OpCode == wire.OpUDPConnect || h.OpCode == wire.OpClientAck:
		w.t.Fatalf("handshake %+v delivered", h)
	case h.Sequence <= w.highest[a.peer]:
		w.t.Fatalf("%+v delivered after number %d", h, w.highest[a.peer])
	}
	w.highest[a.peer] = h.Sequence
}

// wentWithData reports whether the binding has moved with data (rule 5), as after a NAT has changed a port. Such an
// address may send data, but gets none before it is confirmed.
func wentWithData(a *Association) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bind != nil && a.bind.state == followed
}

// fuzzSeeds are short sequences: the vectors of realtime.md 14.2, a handshake with data, a move, a contested binding, and garbage.
func fuzzSeeds() [][]byte {
	put := func(dst []byte, source byte, unit []byte) []byte {
		return append(append(dst, source, byte(len(unit))), unit...)
	}
	hs := func(op func([]byte, int32, int32) []byte, seq int32) []byte { return op(nil, 1, seq) }
	up := put(put(nil, 0, hs(wire.AppendUDPConnect, 0)), 0, hs(wire.AppendClientAck, 1))
	up = put(up, 0, message(1, 2, "hi"))
	var vectors []byte
	for _, v := range []string{
		"12080918ffffffffffffffffff012801920200", "12080b180128ffffffffffffffffff01920200",
		"14080d100118ffffffffffffffffff012801920200", "0e081b2801aa020708011203746f6b",
		"16081318ffffffffffffffffff0128013001c202020801", "1308da0420ffffffffffffffffff0128017a0101",
	} {
		b, err := hex.DecodeString(v)
		if err != nil {
			panic(err)
		}
		vectors = put(vectors, 0, b)
	}
	short := wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpUDPConnect, Sender: 1})
	largest := func(seq int32) []byte { // the shortest -5 of the largest peer id
		return wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpUDPConnect, Sender: 1<<31 - 1, Sequence: seq})
	}
	return [][]byte{
		vectors, up, put(nil, 0, short),
		put(put(nil, 0, largest(0)), 0, largest(1000)), // RL-27: the peer with the largest -6
		put(put(append([]byte(nil), up...), 0, message(1, 2, "hi")), 0, message(1, 1, "old")),
		put(put(put(nil, 0, hs(wire.AppendUDPConnect, 0)), 1, message(1, 1, "x")), 1, message(1, 2, "x")),
		put(append([]byte(nil), up...), 2<<2|1, hs(wire.AppendUDPConnect, 3)),
		put(put(append([]byte(nil), up...), 1, hs(wire.AppendUDPConnect, 3)), 0, message(1, 3, "x")),
		put(put(nil, 2, hs(wire.AppendUDPConnect, 0)), 3, hs(wire.AppendUDPConnect, 0)),
		{0, 1, 0, 1, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 3, 255, 1},
	}
}

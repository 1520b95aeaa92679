package faults

import (
	"bytes"
	"net/netip"
	"testing"
)

// between has both ends of a NAT speak.
type between struct {
	t *testing.T
	n *nat
}

func newBetween(t *testing.T) between {
	return between{t, newNAT(hostAddr.Addr(), func(epoch int) netip.Addr { return outsideAddr(7, epoch) })}
}

// up brings a packet of the player's, and returns it as the host sees it; not ok: it does not pass.
func (b between) up(protocol byte, port uint16, s segment, payload string) (seen packet, answer []byte, ok bool) {
	b.t.Helper()
	p, known := parsePacket(newPacket(protocol, netip.AddrPortFrom(testPlayer.Addr(), port), testDialed, s, payload))
	if !known {
		b.t.Fatal("no packet")
	}
	ok, answer = b.n.up(&p)
	return b.checked(p), answer, ok
}

// down brings an answer of the host's to what it has seen.
func (b between) down(to packet, s segment, payload string) (got packet, answer []byte, ok bool) {
	b.t.Helper()
	p, known := parsePacket(newPacket(to.protocol, to.dst(), to.src(), s, payload))
	if !known {
		b.t.Fatal("no packet")
	}
	ok, answer = b.n.down(&p)
	return b.checked(p), answer, ok
}

func (b between) checked(p packet) packet {
	b.t.Helper()
	if ip, inner := sums(p.b); ip != 0xffff || inner != 0xffff {
		b.t.Errorf("checksums are wrong: %x, %x", ip, inner)
	}
	return p
}

// connect opens a connection from a port, of which 3 bytes were sent and 5 received, and returns the player's latest packet as the host saw it.
func (b between) connect(port uint16) packet {
	b.t.Helper()
	first, _, ok := b.up(protoTCP, port, segment{seq: 100, flags: flagSYN}, "")
	if !ok || first.src().Addr() != outsideAddr(7, b.n.epoch) || first.dst() != netip.AddrPortFrom(hostAddr.Addr(), testDialed.Port()) {
		b.t.Fatalf("%v, from %v to %v", ok, first.src(), first.dst())
	}
	answer, _, ok := b.down(first, segment{seq: 500, ack: 101, flags: flagSYN | flagACK}, "")
	if !ok || answer.src() != testDialed || answer.dst() != netip.AddrPortFrom(testPlayer.Addr(), port) {
		b.t.Fatalf("%v, from %v to %v", ok, answer.src(), answer.dst())
	}
	if _, _, ok = b.down(first, segment{seq: 501, ack: 101, flags: flagACK}, "12345"); !ok {
		b.t.Fatal("the host's data do not pass")
	}
	last, _, ok := b.up(protoTCP, port, segment{seq: 101, ack: 506, flags: flagACK}, "123")
	if !ok || last.src() != first.src() {
		b.t.Fatalf("%v, from %v", ok, last.src())
	}
	return last
}

func reset(t *testing.T, b []byte) packet {
	t.Helper()
	p, ok := parsePacket(b)
	if ip, inner := sums(b); !ok || p.tcp.flags&flagRST == 0 || ip != 0xffff || inner != 0xffff {
		t.Fatalf("%x is no reset", b)
	}
	return p
}

// A reset tells both sides, with the numbers that they expect, and again whenever they send; a new connection from the same port opens.
func TestNATResets(t *testing.T) {
	t.Parallel()
	b := newBetween(t)
	old := b.connect(4000)
	toPlayer, toHost := b.n.reset(true)
	if len(toPlayer) != 1 || len(toHost) != 1 {
		t.Fatalf("%d and %d resets", len(toPlayer), len(toHost))
	}
	if p := reset(t, toPlayer[0]); p.src() != testDialed || p.dst() != testPlayer || p.tcp.seq != 506 || p.tcp.ack != 104 {
		t.Errorf("%+v from %v to %v", p.tcp, p.src(), p.dst())
	}
	if p := reset(t, toHost[0]); p.src() != old.src() || p.dst() != old.dst() || p.tcp.seq != 101 || p.tcp.ack != 506 {
		t.Errorf("%+v from %v to %v", p.tcp, p.src(), p.dst())
	}
	_, answer, ok := b.up(protoTCP, 4000, segment{seq: 104, ack: 511, flags: flagACK}, "x")
	if p := reset(t, answer); ok || p.tcp.seq != 511 || p.tcp.ack != 105 || p.dst() != testPlayer {
		t.Errorf("%v, %+v", ok, p.tcp)
	}
	_, answer, ok = b.down(old, segment{seq: 506, ack: 104, flags: flagACK}, "")
	if p := reset(t, answer); ok || p.tcp.seq != 104 || p.dst() != old.dst() || p.src() != old.src() {
		t.Errorf("%v, %+v", ok, p.tcp)
	}
	for _, flags := range []byte{flagRST, flagRST | flagACK} { // no answers to answers
		if _, answer, ok := b.up(protoTCP, 4000, segment{flags: flags}, ""); ok || answer != nil {
			t.Errorf("%v, %x", ok, answer)
		}
	}
	if now := b.connect(4000); now.src() == old.src() {
		t.Error("the new connection has the old port")
	}
}

// A handover tells the player alone, who then has another address.
func TestNATHandsOver(t *testing.T) {
	t.Parallel()
	b := newBetween(t)
	old := b.connect(4000)
	first, _, _ := b.up(protoUDP, 4000, segment{}, "text")
	if got := b.n.handover(); len(got) != 1 || reset(t, got[0]).dst() != testPlayer {
		t.Errorf("%x", got)
	}
	for _, to := range []packet{old, first} {
		if _, answer, ok := b.down(to, segment{flags: flagACK}, "text"); ok || answer != nil {
			t.Errorf("the old address: %v, %x", ok, answer)
		}
	}
	second, _, ok := b.up(protoUDP, 4000, segment{}, "text")
	if !ok || second.src().Addr() == first.src().Addr() {
		t.Errorf("%v, from %v, then %v", ok, first.src(), second.src())
	}
	if got, _, ok := b.down(second, segment{}, "text"); !ok || got.dst() != testPlayer {
		t.Errorf("%v, to %v", ok, got.dst())
	}
	if now := b.connect(4001); now.src().Addr() != second.src().Addr() {
		t.Errorf("TCP from %v, UDP from %v", now.src(), second.src())
	}
}

// A NAT that forgets has TCP be silent for good, and datagrams go on from another port of the same address.
func TestNATForgets(t *testing.T) {
	t.Parallel()
	b := newBetween(t)
	old := b.connect(4000)
	first, _, _ := b.up(protoUDP, 4000, segment{}, "text")
	b.n.rebind()
	if _, answer, ok := b.up(protoTCP, 4000, segment{flags: flagACK}, "x"); ok || answer != nil {
		t.Errorf("the player: %v, %x", ok, answer)
	}
	for _, to := range []packet{old, first} {
		if _, answer, ok := b.down(to, segment{flags: flagACK}, "x"); ok || answer != nil {
			t.Errorf("the host: %v, %x", ok, answer)
		}
	}
	second, _, ok := b.up(protoUDP, 4000, segment{}, "text")
	if !ok || second.src().Addr() != first.src().Addr() || second.src().Port() == first.src().Port() {
		t.Errorf("%v, from %v, then %v", ok, first.src(), second.src())
	}
}

// The flow that was not used for longest makes room.
func TestNATIsBounded(t *testing.T) {
	t.Parallel()
	b := newBetween(t)
	kept, _, _ := b.up(protoUDP, 1, segment{}, "x")
	for port := uint16(2); port < 3*flowsMax; port++ {
		b.up(protoUDP, port, segment{}, "x")
		if now, _, ok := b.up(protoUDP, 1, segment{}, "x"); !ok || now.src() != kept.src() {
			t.Fatalf("%v, from %v, then %v", ok, kept.src(), now.src())
		}
	}
	if len(b.n.inside) != flowsMax || len(b.n.outside) != flowsMax {
		t.Errorf("%d and %d flows", len(b.n.inside), len(b.n.outside))
	}
	b.n.lastPort = 65535
	if last, _, ok := b.up(protoUDP, 60000, segment{}, "x"); !ok || last.src().Port() != firstPort {
		t.Errorf("%v, from %v", ok, last.src())
	}
}

// A packet that passes twice is translated twice, in both directions; what is addressed to nobody goes nowhere.
func TestRelayTranslatesCopies(t *testing.T) {
	t.Parallel()
	players, host := new(noted), new(noted)
	r := &relay{players: players, host: host, routes: make(map[int]*route), nats: make(map[int]*nat)}
	w, err := r.open(1, 7, "10.2.0.1:33400", "10.2.0.1:33402")
	if err != nil {
		t.Fatal(err)
	}
	if w.TCP() != "10.3.0.7:33400" || w.UDP() != "10.3.0.7:33402" {
		t.Errorf("%s, %s", w.TCP(), w.UDP())
	}
	end := w.Begin(Event{Fault: Link, Conditions: Conditions{Duplicate: 1}})
	defer end()
	take := func(do func(*packet), src, dst netip.AddrPort) {
		p, ok := parsePacket(newPacket(protoUDP, src, dst, segment{}, "text"))
		if !ok {
			t.Fatal("no packet")
		}
		do(&p)
	}
	take(r.fromPlayers, testPlayer, testDialed)
	if len(host.all) != 2 || !bytes.Equal(host.all[0].b, host.all[1].b) {
		t.Fatalf("%d packets", len(host.all))
	}
	seen := host.all[0]
	take(r.fromHost, seen.dst(), seen.src())
	if len(players.all) != 2 || players.all[0].dst() != testPlayer || players.all[1].dst() != testPlayer || players.all[1].src() != testDialed {
		t.Fatalf("%d packets", len(players.all))
	}
	for _, to := range []string{"10.3.0.8:1", "10.128.0.8:1", "10.4.0.7:1", "192.0.2.1:1"} {
		take(r.fromPlayers, testPlayer, netip.MustParseAddrPort(to))
		take(r.fromHost, seen.dst(), netip.MustParseAddrPort(to))
	}
	if len(host.all) != 2 || len(players.all) != 2 {
		t.Errorf("%d and %d packets", len(host.all), len(players.all))
	}
	if c := r.counts(); c != (relayed{carried: 4}) {
		t.Errorf("%+v", c)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	take(r.fromPlayers, testPlayer, testDialed)
	if c := r.counts(); len(host.all) != 2 || c != (relayed{carried: 4}) {
		t.Errorf("%d packets, %+v", len(host.all), c)
	}
}

// noted is a device that keeps what it is given.
type noted struct {
	discard
	all []packet
}

func (n *noted) Write(b []byte) (int, error) {
	p, ok := parsePacket(bytes.Clone(b))
	if !ok {
		panic("no packet")
	}
	n.all = append(n.all, p)
	return len(b), nil
}

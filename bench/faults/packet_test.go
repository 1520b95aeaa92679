package faults

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
)

// newPacket makes a packet with the right checksums.
func newPacket(protocol byte, src, dst netip.AddrPort, s segment, payload string) []byte {
	b := resetPacket(src, dst, s.seq, s.ack)
	b[ipv4Bytes+13] = s.flags
	if protocol == protoUDP {
		b = b[:ipv4Bytes+udpBytes]
		binary.BigEndian.PutUint16(b[ipv4Bytes+4:], uint16(udpBytes+len(payload)))
	}
	b = append(b, payload...)
	b[9] = protocol
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	at := ipv4Bytes + 16
	if protocol == protoUDP {
		at = ipv4Bytes + 6
	}
	sum := b[at:]
	b[10], b[11], sum[0], sum[1] = 0, 0, 0, 0
	ip, inner := sums(b)
	binary.BigEndian.PutUint16(b[10:], ^ip)
	binary.BigEndian.PutUint16(sum, ^inner)
	return b
}

// sums are those that checksums make 0xffff: of the IP header, and of what is inside.
func sums(b []byte) (ip, inner uint16) {
	header := int(b[0]&15) * 4
	return fold(sumOf(b[:header])), fold(sumOf(b[12:20]) + uint32(b[9]) + uint32(len(b)-header) + sumOf(b[header:]))
}

var (
	testPlayer = netip.MustParseAddrPort("10.1.0.1:4000")
	testDialed = netip.MustParseAddrPort("10.3.0.7:33400")
	testOther  = netip.MustParseAddrPort("10.200.1.2:65535")
)

func TestPacketsAreRewritten(t *testing.T) {
	t.Parallel()
	for _, protocol := range []byte{protoTCP, protoUDP} {
		for _, payload := range []string{"", "odd", "even"} {
			b := newPacket(protocol, testPlayer, testDialed, segment{seq: 1000, ack: 2000, flags: flagSYN | flagACK}, payload)
			if ip, inner := sums(b); ip != 0xffff || inner != 0xffff {
				t.Fatalf("the test makes wrong packets: %x, %x", ip, inner)
			}
			p, ok := parsePacket(append(b, "padding"...))
			if !ok || p.src() != testPlayer || p.dst() != testDialed || len(p.b) != len(b) {
				t.Fatalf("%v, %+v", ok, p)
			}
			if want := (segment{seq: 1000, ack: 2000, next: 1001 + uint32(len(payload)), flags: flagSYN | flagACK}); protocol == protoTCP && p.tcp != want {
				t.Errorf("%+v, want %+v", p.tcp, want)
			}
			p.setSrc(testOther)
			p.setDst(testPlayer)
			if want := newPacket(protocol, testOther, testPlayer, segment{seq: 1000, ack: 2000, flags: flagSYN | flagACK}, payload); !bytes.Equal(p.b, want) {
				t.Errorf("%x, want %x", p.b, want)
			}
		}
	}
	// UDP without a checksum stays so.
	b := newPacket(protoUDP, testPlayer, testDialed, segment{}, "text")
	b[ipv4Bytes+6], b[ipv4Bytes+7] = 0, 0
	p, _ := parsePacket(b)
	if p.setSrc(testOther); b[ipv4Bytes+6] != 0 || b[ipv4Bytes+7] != 0 {
		t.Error("there is a checksum now")
	}
}

func TestPacketsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := newPacket(protoTCP, testPlayer, testDialed, segment{}, "text")
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":             func([]byte) []byte { return nil },
		"IPv6":                func(b []byte) []byte { b[0] = 0x65; return b },
		"a short header":      func(b []byte) []byte { b[0] = 0x44; return b },
		"a header too long":   func(b []byte) []byte { b[0] = 0x4f; return b },
		"ICMP":                func(b []byte) []byte { b[9] = 1; return b },
		"the first fragment":  func(b []byte) []byte { b[6] = 0x20; return b },
		"the last fragment":   func(b []byte) []byte { b[7] = 1; return b },
		"half of it":          func(b []byte) []byte { return b[:len(b)-1] },
		"a total that is low": func(b []byte) []byte { b[3] = ipv4Bytes - 1; return b },
		"no options":          func(b []byte) []byte { b[ipv4Bytes+12] = 0xf0; return b },
		"half a TCP header":   func(b []byte) []byte { b[ipv4Bytes+12] = 0x40; return b },
		"half a UDP header":   func(b []byte) []byte { b[3], b[9] = ipv4Bytes+udpBytes-1, protoUDP; return b },
	} {
		if _, ok := parsePacket(change(bytes.Clone(good))); ok {
			t.Errorf("%s is a packet", name)
		}
	}
	if _, ok := parsePacket(good); !ok {
		t.Error("a good one is not")
	}
}

// Whatever comes from a device, nothing panics, flows are bounded, and a translation changes checksums as it changes data.
func FuzzPacket(f *testing.F) {
	f.Add(newPacket(protoTCP, testPlayer, testDialed, segment{flags: flagSYN}, ""))
	f.Add(newPacket(protoTCP, netip.AddrPortFrom(hostAddr.Addr(), 33400), netip.MustParseAddrPort("10.128.0.7:10001"), segment{flags: flagACK}, "text"))
	f.Add(newPacket(protoUDP, testPlayer, testDialed, segment{}, "text"))
	r := &relay{players: discard{}, host: discard{}, routes: make(map[int]*route), nats: make(map[int]*nat)}
	w, err := r.open(1, 7, "h:33400", "h:33402")
	if err != nil {
		f.Fatal(err)
	}
	n := w.(*route).nat
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parsePacket(bytes.Clone(b)); ok {
			r.fromPlayers(&p)
		}
		if p, ok := parsePacket(bytes.Clone(b)); ok {
			r.fromHost(&p)
		}
		if len(n.inside) > flowsMax || len(n.outside) != len(n.inside) {
			t.Fatalf("%d flows inside, %d outside", len(n.inside), len(n.outside))
		}
		p, ok := parsePacket(b)
		if !ok {
			return
		}
		ip, inner := sums(p.b)
		none := p.protocol == protoUDP && p.b[p.header+6]|p.b[p.header+7] == 0
		p.setSrc(testOther)
		p.setDst(testDialed)
		same := func(x, y uint16) bool { return x%0xffff == y%0xffff } // both are zero
		if nowIP, nowInner := sums(p.b); !same(ip, nowIP) || !none && !same(inner, nowInner) {
			t.Errorf("sums %x and %x, then %x and %x", ip, inner, nowIP, nowInner)
		}
	})
}

// discard is a device that gives nothing and takes all.
type discard struct{}

func (discard) Read([]byte) (int, error)    { select {} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

package dtls

import (
	"net/netip"
	"testing"

	"troupe/messages/counters"
)

// FuzzDatagram passes bytes to an endpoint: from an unknown address, in the middle of a handshake, and for a live
// association. The association must survive.
func FuzzDatagram(f *testing.F) {
	f.Add(helloRecord(1))
	f.Add(plainRecord(alert, 1, []byte{2, 40}))
	f.Add(plainRecord(handshake, 1, shakeMessage(msgClientKeyExchange, 33, 1, 0, append([]byte{32}, make([]byte, 32)...))))
	f.Add(plainRecord(handshake, 1, shakeMessage(msgClientHello, 100, 0, 90, make([]byte, 10))))
	sealed := plainRecord(applicationData, 9, make([]byte, 40))
	sealed[4] = 1
	f.Add(sealed)
	h := newNetwork()
	s := h.serve(f, nil)
	c := s.dialFrom(h, alice, nil)
	c.a.Write([]byte("x"))
	peer := await(f, s.new)
	await(f, peer.got)
	from, unknownPeer := netip.MustParseAddrPort(alice), netip.MustParseAddrPort("10.9.9.9:9")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > datagramMax {
			return
		}
		h.inject(unknownPeer, b)
		h.inject(from, b)
		talks(t, c, peer)
	})
}

// FuzzFilter checks that the library can parse every unfragmented message that the filter admits.
func FuzzFilter(f *testing.F) {
	f.Add(helloRecord(1)[headerSize:], false)
	f.Add(shakeMessage(msgServerHello, 38, 1, 0, append(append([]byte{0xfe, 0xfd}, make([]byte, 33)...), 0xcc, 0xa9, 0)), true)
	f.Add(shakeMessage(msgHelloVerify, 7, 0, 0, []byte{0xfe, 0xfd, 4, 1, 2, 3, 4}), true)
	f.Fuzz(func(t *testing.T, fragment []byte, client bool) {
		if len(fragment) == 0 || len(fragment) > datagramMax {
			return
		}
		r, _, drop := nextRecord(plainRecord(handshake, 0, fragment))
		if drop != 0 {
			t.Fatal(drop)
		}
		fl := filter{client: client, suite: counters.SuiteChaCha20}
		if hello, ok := readClientHello(&r); ok {
			fl.random = hello.random
		}
		if fl.admit(&r) != 0 {
			return
		}
		var gather flight
		for range 3 {
			gather.take(&r)
		}
		for b := r.fragment; len(b) > 0; {
			m, rest, ok := nextMessage(b)
			if !ok {
				t.Fatal("admitted, and not messages")
			}
			if b = rest; m.whole() && m.typ != msgClientKeyExchange && !libraryReads(&m) {
				t.Fatal("admitted, and the library does not read it")
			}
		}
	})
}

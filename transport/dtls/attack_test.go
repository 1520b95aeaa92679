package dtls

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

const alice = "10.0.0.2:5000"

// live returns a network with one association that has exchanged records in both directions.
func live(t *testing.T) (*network, *server, *inbox, *inbox) {
	h := newNetwork()
	s := h.serve(t, nil)
	c := s.dialFrom(h, alice, nil)
	c.a.Write([]byte("first"))
	peer := await(t, s.new)
	await(t, peer.got)
	return h, s, c, peer
}

// talks checks that both directions of an association work.
func talks(t testing.TB, c, peer *inbox) {
	t.Helper()
	c.a.Write([]byte("ping"))
	if got := await(t, peer.got); string(got) != "ping" {
		t.Errorf("the server got %q", got)
	}
	peer.a.Write([]byte("pong"))
	if got := await(t, c.got); string(got) != "pong" {
		t.Errorf("the client got %q", got)
	}
}

// plainRecord returns a record of epoch 0.
func plainRecord(typ contentType, number uint64, fragment []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(fragment))
	putHeader(b, typ, number, len(fragment))
	b[4] = 0 // epoch
	return append(b, fragment...)
}

// shakeMessage returns a handshake message or a fragment of one.
func shakeMessage(typ byte, length, sequence, offset int, body []byte) []byte {
	b := []byte{typ, byte(length >> 16), byte(length >> 8), byte(length), byte(sequence >> 8), byte(sequence),
		byte(offset >> 16), byte(offset >> 8), byte(offset), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}
	return append(b, body...)
}

// someHello returns the body of a ClientHello. Each byte of its Random field is random.
// session is the ID of the session to resume, or empty.
func someHello(random byte, session []byte) []byte {
	b := []byte{0xfe, 0xfd}
	b = append(b, bytes.Repeat([]byte{random}, randomSize)...)
	b = append(b, byte(len(session)))
	b = append(b, session...)
	b = append(b, 0) // no cookie
	b = binary.BigEndian.AppendUint16(b, 2)
	b = binary.BigEndian.AppendUint16(b, suiteChaCha20)
	b = append(b, 1, 0)
	return append(b, 0, 8, 0, 10, 0, 4, 0, 2, 0, 29) // supported groups: X25519
}

func helloRecord(random byte, session ...byte) []byte {
	body := someHello(random, session)
	return plainRecord(handshake, 0, shakeMessage(msgClientHello, len(body), 0, 0, body))
}

// RL-208.
func TestPlainTextDoesNothingToALiveAssociation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, c, peer := live(t)
		from := netip.MustParseAddrPort(alice)
		forged := [][]byte{
			plainRecord(alert, 50, []byte{2, 20}),            // fatal
			plainRecord(alert, 51, []byte{1, 0}),             // close_notify
			plainRecord(changeCipherSpec, 52, []byte{1}),     //
			plainRecord(applicationData, 53, []byte("evil")), //
			plainRecord(handshake, 54, shakeMessage(20, 12, 3, 0, make([]byte, 12))),
		}
		for _, b := range forged {
			h.inject(from, b)
		}
		counted(t, "plain records dropped", func() int64 { return s.count.Records.Get(counters.RecordPlainAfter) }, int64(len(forged)))
		talks(t, c, peer)
	})
}

func TestForgedAndReplayedRecordsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, c, peer := live(t)
		var sent []byte
		h.mu.Lock()
		h.pass = func(fromServer bool, b []byte) int {
			if !fromServer {
				sent = append([]byte(nil), b...)
			}
			return 1
		}
		h.mu.Unlock()
		c.a.Write([]byte("once"))
		await(t, peer.got)
		from := netip.MustParseAddrPort(alice)
		for range 3 {
			h.inject(from, sent)
		}
		counted(t, "replays", func() int64 { return s.count.Records.Get(counters.RecordReplayed) }, 3)
		for i := range sent { // flip one bit at each position
			forged := append([]byte(nil), sent...)
			forged[i] ^= 1
			forged[10] ^= 0x55 // use a new record number
			h.inject(from, forged)
		}
		talks(t, c, peer)
		select {
		case got := <-peer.got:
			t.Errorf("a record too many: %q", got)
		default:
		}
		if s.count.Records.Get(counters.RecordForged) < int64(len(sent))/2 {
			t.Error("forged records are not counted")
		}
	})
}

func TestAnUnknownAddressGetsNothing(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		from := netip.MustParseAddrPort("10.0.0.9:1")
		for _, b := range [][]byte{
			{}, {22}, bytes.Repeat([]byte{0}, 100), plainRecord(applicationData, 0, []byte("x")), plainRecord(alert, 0, []byte{2, 0}),
			plainRecord(handshake, 0, shakeMessage(msgClientKeyExchange, 33, 0, 0, append([]byte{32}, make([]byte, 32)...))),
			plainRecord(handshake, 0, shakeMessage(msgClientHello, 100, 0, 0, make([]byte, 10))), // a fragment
			plainRecord(handshake, 0, shakeMessage(msgClientHello, 5, 0, 0, make([]byte, 5))),    // not a valid hello
		} {
			h.inject(from, b)
		}
		c := s.dialFrom(h, alice, nil) // after all of them
		c.a.Write([]byte("x"))
		await(t, s.new)
		counted(t, "handshakes", s.count.Handshakes.Total, 1)
		if st := s.Stats(); st.HalfOpen != 0 || st.Associations != 1 {
			t.Errorf("%+v", st)
		}
		if n := s.count.Handshakes.Total(); n != 1 {
			t.Errorf("%d handshakes", n)
		}
	})
}

// RL-27: an unproven address gets at most three times the bytes that it has sent.
func TestTheAnswerToAHelloIsSmall(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		hello := helloRecord(1)
		h.inject(netip.MustParseAddrPort(alice), hello)
		time.Sleep(10 * time.Second) // until all resends are over
		out := h.sent()
		if out == 0 || out > 3*len(hello) {
			t.Errorf("%d bytes out for %d in", out, len(hello))
		}
		if st := s.Stats(); st.HalfOpen != 0 {
			t.Errorf("%+v after the timeout", st)
		}
		s.Close()
	})
}

// A session id is sent in plaintext, so it proves nothing: a hello with a stolen id gets no
// more than any other hello.
// RL-27.
func TestAKnownSessionIDOpensNoDoor(t *testing.T) {
	inNetwork(t, func(o *Options, _ *acceptAll) { o.HalfOpenMax, o.HelloRate = 16, -1 }, func(t *testing.T, h *network, s *server) {
		sessions := NewSessions()
		s.dialFrom(h, alice, func(o *DialOptions) { o.Sessions = sessions }).a.Write([]byte("x"))
		await(t, s.new)
		var id []byte
		for _, known := range sessions.byKey {
			id = known.id
		}
		if len(id) == 0 {
			t.Fatal("no session to know")
		}
		h.mu.Lock()
		h.out = 0
		h.mu.Unlock()
		in := 0
		for n := range 100 {
			hello := helloRecord(byte(n+1), id...)
			in += len(hello)
			h.inject(netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 16, 1, byte(n)}), 1), hello)
			synctest.Wait()
		}
		if st := s.Stats(); st.HalfOpen > 16 {
			t.Errorf("%+v", st)
		}
		s.dialFrom(h, "10.0.0.3:1", nil).a.Write([]byte("y")) // meanwhile others can connect
		await(t, s.new)
		time.Sleep(4 * time.Second)
		out := h.sent() - 2000 // about what the real handshake took
		if out > 3*in {
			t.Errorf("%d bytes out for %d in", out, in)
		}
		s.Close()
	})
}

func TestAHandshakeTakesNoPartsAndNoMoreThanItsShare(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		from := netip.MustParseAddrPort(alice)
		h.inject(from, helloRecord(1))
		synctest.Wait()
		for n := range 1000 { // empty fragments that would reserve memory
			h.inject(from, plainRecord(handshake, uint64(n+1), shakeMessage(msgClientHello, 100, n%8, 0, nil)))
			h.inject(from, plainRecord(handshake, uint64(n+1), shakeMessage(msgClientKeyExchange, 33, 2, n%32, []byte{1})))
			h.inject(from, plainRecord(handshake, uint64(n+1), bytes.Repeat(shakeMessage(msgClientHello, 0, 1, 0, nil), 50)))
		}
		synctest.Wait()
		if got := s.count.Records.Get(counters.RecordFragment); got < 2000 {
			t.Errorf("%d fragments dropped", got)
		}
		if st := s.Stats(); st.HalfOpen != 1 {
			t.Errorf("%+v", st)
		}
		for n := range 200 { // well formed, but too many
			h.inject(from, plainRecord(handshake, uint64(2000+n), helloRecord(1)[headerSize:]))
		}
		synctest.Wait()
		if s.count.Records.Get(counters.RecordHandshakeCap) == 0 {
			t.Error("no cap on the records of a handshake")
		}
		if s.count.Handshakes.Get(counters.HandshakeFailed) == 0 {
			t.Error("a handshake over its share goes on")
		}
		s.Close()
	})
}

// RL-122, RL-208.
func TestAHelloFloodStaysWithinTheCapsAndHonestPeersGetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		h := newNetwork()
		s := h.serve(t, func(o *Options, _ *acceptAll) { o.HelloRate, o.HalfOpenMax, o.Timeout = -1, 64, 2*time.Second })
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 16, byte(n / 250 % 8), byte(n % 250)}), uint16(1000+n%7))
					h.inject(from, helloRecord(byte(n)))
					time.Sleep(time.Millisecond)
				}
			}
		}()
		counted(t, "handshakes given up for newer ones", func() int64 { return s.count.Handshakes.Get(counters.HandshakeEvicted) }, 200)
		if st := s.Stats(); st.HalfOpen > 64 {
			t.Errorf("%d half-open", st.HalfOpen)
		}
		for n := range 5 {
			c := s.dialFrom(h, fmt.Sprintf("10.0.0.%d:77", n+2), nil)
			c.a.Write([]byte("x"))
		}
		close(stop)
		<-done
		time.Sleep(2 * time.Second) // until all handshakes have timed out
		synctest.Wait()
		if st := s.Stats(); st.HalfOpen != 0 {
			t.Errorf("%+v after the flood", st)
		}
		if n := runtime.NumGoroutine(); n > before+16 {
			t.Errorf("%d goroutines, %d before the flood", n, before)
		}
	})
}

// An address gets a limited share of the handshakes. Forged hellos cannot use it up, because the oldest
// handshake whose address is not proven is evicted.
func TestOneAddressHasAShareOfTheHandshakes(t *testing.T) {
	inNetwork(t, func(o *Options, _ *acceptAll) { o.HalfOpenPerIP = 8 }, func(t *testing.T, h *network, s *server) {
		crowd := func(first uint16, n int) {
			for port := range uint16(n) {
				h.inject(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.3"), first+port), helloRecord(byte(port)))
			}
			synctest.Wait()
		}
		crowd(1000, 100) // within cookieTime no handshake is evicted
		if st := s.Stats(); st.HalfOpen != 8 {
			t.Errorf("%+v, want 8 half-open", st)
		}
		gone, full := s.count.Handshakes.Get(counters.HandshakeEvicted), s.count.Handshakes.Get(counters.HandshakeRefusedPerIP)
		if gone != 0 || full != 92 {
			t.Errorf("%d gave way, %d were refused", gone, full)
		}
		for n := range 24 { // these use the rest of the rate's burst; refused hellos have not used any of it
			time.Sleep(cookieTime)
			crowd(uint16(2000+100*n), 8)
		}
		if gone := s.count.Handshakes.Get(counters.HandshakeEvicted); gone != 24*8 {
			t.Errorf("%d gave way", gone)
		}
		h.inject(netip.MustParseAddrPort("10.0.0.4:1"), helloRecord(1))
		synctest.Wait()
		if st := s.Stats(); st.HalfOpen != 9 {
			t.Errorf("another address is refused as well: %+v", st)
		}
		time.Sleep(time.Second)
		for port := range uint16(8) {
			h.inject(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.3"), 4000+port), helloRecord(byte(port)))
		}
		s.dialFrom(h, "10.0.0.3:7", nil).a.Write([]byte("mine")) // the real client at that address
		await(t, s.new)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if st := s.Stats(); st.HalfOpen != 0 {
			t.Errorf("%+v after the timeout", st)
		}
		s.Close()
	})
}

// A busy host answers late. It must not evict handshakes because of its own delay.
func TestAHandshakeThatThisHostHasNotAnsweredIsKept(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		began, answered time.Duration // how long ago; -1 for not yet
		gives           bool
	}{
		{owedMax - 1, -1, false},
		{owedMax - 1, cookieTime - 1, false},
		{owedMax - 1, cookieTime, true},
		{owedMax, -1, true},
		{owedMax + cookieTime, 1, true},
	} {
		h := &half{began: now.Add(-c.began), pipe: newPipe(nil, nil, nil)}
		if h.pipe.address = proofMissing; c.answered >= 0 {
			h.pipe.answered = now.Add(-c.answered)
		}
		var l halves
		l.Add(&h.unproven, h)
		if got := l.oldestOf(netip.Prefix{}, now) != nil; got != c.gives {
			t.Errorf("%+v: gives way: %v", c, got)
		}
	}
}

// Hellos that the library never answers cannot block their address.
func TestHellosWithoutAnAnswerGiveWay(t *testing.T) {
	inNetwork(t, func(o *Options, _ *acceptAll) { o.HalfOpenPerIP = 8 }, func(t *testing.T, h *network, s *server) {
		for port := range uint16(8) {
			b := helloRecord(byte(port))
			b[headerSize+5] = 5 // the message number; the library waits for 0
			h.inject(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.3"), 1000+port), b)
		}
		time.Sleep(owedMax)
		h.inject(netip.MustParseAddrPort("10.0.0.3:7"), helloRecord(77))
		synctest.Wait()
		if n := s.count.Handshakes.Get(counters.HandshakeEvicted); n != 1 {
			t.Errorf("%d gave way", n)
		}
		time.Sleep(5 * time.Second)
		s.Close()
	})
}

func TestARefusalIsNotLeftOut(t *testing.T) {
	var s repeats
	now := time.Now()
	for i := range time.Duration(8) {
		s.skips(helloRecord(1), now.Add(i*200*time.Millisecond))
	}
	if !s.skipping || s.skips(plainRecord(alert, 9, []byte{2, 42}), now.Add(1500*time.Millisecond)) {
		t.Error("an alert is left out")
	}
}

func TestNewHandshakesHaveARate(t *testing.T) {
	inNetwork(t, func(o *Options, _ *acceptAll) { o.HelloRate, o.HalfOpenMax = 10, 20 }, func(t *testing.T, h *network, s *server) {
		for n := range 100 {
			h.inject(netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 16, 0, byte(n)}), 1), helloRecord(byte(n)))
		}
		synctest.Wait()
		if n := s.count.Handshakes.Get(counters.HandshakeRefusedRate); n != 80 {
			t.Errorf("%d refused for the rate", n)
		}
		s.Close()
	})
}

// A hello from the address of a live association, spoofed or real, has no effect on the
// association until the new handshake completes.
func TestAHelloOnALiveAddressIsAShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, c, peer := live(t)
		from := netip.MustParseAddrPort(alice)
		h.inject(from, helloRecord(9)) // spoofed: the cookie is not returned
		for s.Stats().HalfOpen == 0 {
			time.Sleep(time.Millisecond)
		}
		talks(t, c, peer)
		for range 50 { // also with records that match neither of them
			forged := plainRecord(applicationData, 7, make([]byte, 60))
			forged[4] = 1
			h.inject(from, forged)
		}
		talks(t, c, peer)
	})
}

func TestAClientThatRestartsOnItsAddressReplacesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, c, peer := live(t)
		for range 1000 { // so that the numbers of the next association are far below the replay window of this one
			c.a.Write([]byte("x"))
			await(t, peer.got)
		}
		// Somebody has also sent a spoofed hello. Its answer goes to the old socket. A new socket would
		// mistake it for the answer to its own hello.
		out := h.sent()
		h.inject(netip.MustParseAddrPort(alice), helloRecord(9))
		for h.sent() == out {
			time.Sleep(time.Millisecond)
		}
		again := s.dialFrom(h, alice, nil) // the old socket is gone
		if err := await(t, peer.closed); err != ErrReplaced {
			t.Error(err)
		}
		again.a.Write([]byte("again"))
		next := await(t, s.new)
		if got := await(t, next.got); string(got) != "again" {
			t.Errorf("%q", got)
		}
		talks(t, again, next)
		if st := s.Stats(); st.Associations != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// refuseAll closes every association in Accept but nevertheless returns a handler.
type refuseAll struct{ inbox *inbox }

func (r refuseAll) Accept(a *Association) Handler {
	a.Close()
	return r.inbox
}

func TestAnAssociationThatIsClosedInAcceptIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		box := newInbox(nil)
		e, err := Listen(Options{Conn: h, Certificate: func() *tls.Certificate { return certificate }}, refuseAll{box})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{Endpoint: e, TB: t}
		s.dialFrom(h, alice, nil)
		await(t, box.closed)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if st := e.Stats(); st.Associations != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// RL-208.
func TestGCMIsCapped(t *testing.T) {
	got := new(sink)
	from, _ := pair(counters.SuiteAESGCM, got)
	closed := &inbox{closed: make(chan error, 1)}
	from.handler = closed
	from.sealed.Store(gcmRecordsMax - 2)
	for range 2 {
		if !from.Write([]byte("x")) {
			t.Fatal("not sent below the cap")
		}
	}
	if from.Write([]byte("x")) {
		t.Error("sent over the cap")
	}
	if err := await(t, closed.closed); err != ErrExhausted {
		t.Error(err)
	}
	if got.n != 2 || from.count.GCMRecords.Load() != 4 { // including both close_notify alerts
		t.Errorf("%d records arrived, %d counted", got.n, from.count.GCMRecords.Load())
	}
}

// RL-208.
func TestNoNonceIsUsedTwice(t *testing.T) {
	for _, suite := range []counters.Suite{counters.SuiteChaCha20, counters.SuiteAESGCM} {
		from, _ := pair(suite, new(sink))
		seen := map[string]bool{}
		from.send = func(b []byte) bool {
			nonce := string(b[3:11])
			if suite == counters.SuiteAESGCM && nonce != string(b[headerSize:headerSize+explicitSize]) {
				t.Error("the explicit nonce is not the record's number")
			}
			if seen[nonce] {
				t.Errorf("%v: number %x twice", suite, nonce)
			}
			seen[nonce] = true
			return true
		}
		for range 1000 {
			from.Write([]byte("x"))
		}
	}
}

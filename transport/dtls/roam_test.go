package dtls

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// roamer is a client behind a NAT whose mapping the test can change.
type roamer struct {
	t            *testing.T
	clientSocket *clientSocket
	here         *inbox // the client's inbox
	there        *inbox // the server's inbox
}

func (s *server) roamer(t *testing.T, h *network, addr string, change func(o *DialOptions)) *roamer {
	t.Helper()
	r := &roamer{t: t, clientSocket: h.enter(addr)}
	r.here = s.dial(func(o *DialOptions) {
		o.Conn = r.clientSocket
		if change != nil {
			change(o)
		}
	})
	r.there = await(t, s.new)
	r.talk()
	return r
}

// talk sends one record in each direction. Both must arrive.
func (r *roamer) talk() {
	r.t.Helper()
	if r.say("up"); string(await(r.t, r.there.got)) != "up" {
		r.t.Fatal("not what was sent")
	}
	r.there.a.Write([]byte("down"))
	if got := await(r.t, r.here.got); string(got) != "down" {
		r.t.Fatalf("got %q", got)
	}
}

func (r *roamer) say(text string) { r.here.a.Write([]byte(text)) }

// inNetwork runs a test in virtual time.
func inNetwork(t *testing.T, change func(o *Options, s *acceptAll), test func(t *testing.T, h *network, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		test(t, h, h.serve(t, change))
	})
}

// TestRoams checks that an association follows the first record of its peer. The peer moves many times to another port
// or another IP address. The test uses both suites.
// RL-107.
func TestRoams(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		r := s.roamer(t, h, "192.0.2.1:1000", nil)
		other := s.roamer(t, h, "192.0.2.1:2000", nil)
		for n, addr := range []string{"192.0.2.1:1001", "198.51.100.7:1", "198.51.100.7:2", "192.0.2.1:1000"} {
			time.Sleep(roamSilence)
			r.clientSocket.move(addr)
			r.talk()
			if got := r.there.a.RemoteAddr(); got != netip.MustParseAddrPort(addr) {
				t.Fatalf("at %v, want %v", got, addr)
			}
			if moves := s.count.Moves.Get(counters.DTLS); moves != int64(n+1) {
				t.Fatalf("%d moves counted, want %d", moves, n+1)
			}
			other.talk()
		}
		if st := s.Stats(); st.Associations != 2 || st.HalfOpen != 0 || len(s.byIP) != 1 {
			t.Errorf("%+v, %d addresses", st, len(s.byIP))
		}
		if n := s.count.Handshakes.Total(); n != 2 {
			t.Errorf("%d handshakes", n)
		}
	})
}

// TestRoamsAmongMany moves many peers behind one address at the same moment. Each association must follow
// within a second after its peer's first record.
func TestRoamsAmongMany(t *testing.T) {
	const venue = 40
	inNetwork(t, func(o *Options, _ *acceptAll) { o.HalfOpenPerIP, o.HelloRatePerIP = -1, -1 }, func(t *testing.T, h *network, s *server) {
		var all []*roamer
		for n := range venue {
			all = append(all, s.roamer(t, h, fmt.Sprintf("192.0.2.1:%d", 1000+n), nil))
		}
		for n, r := range all {
			for range n % 7 {
				r.talk()
			}
		}
		time.Sleep(roamSilence)
		for n, r := range all {
			r.clientSocket.move(fmt.Sprintf("192.0.2.1:%d", 5000+n))
		}
		for range 20 { // 20 records a second for one second
			for _, r := range all {
				r.say("x")
			}
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		for n, r := range all {
			if got := r.there.a.RemoteAddr().Port(); got != uint16(5000+n) {
				t.Errorf("client %d is at port %d", n, got)
			}
		}
	})
}

// TestRoamRefuses checks that records from an unknown peer, also replayed ones, move no association.
func TestRoamRefuses(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		var taped [][]byte
		tape := false
		h.pass = func(fromServer bool, b []byte) int {
			if tape && !fromServer {
				taped = append(taped, append([]byte(nil), b...))
			}
			return 1
		}
		r := s.roamer(t, h, "192.0.2.1:1000", nil)
		h.mu.Lock()
		tape = true
		h.mu.Unlock()
		for range 10 {
			r.talk()
		}
		h.mu.Lock()
		tape = false
		h.mu.Unlock()
		before := s.count.Records.Get(counters.RecordUnknownAddress)
		time.Sleep(time.Second)
		thief := netip.MustParseAddrPort("192.0.2.1:6666")
		for _, b := range taped { // replayed
			h.inject(thief, b)
		}
		forged := append([]byte(nil), taped[len(taped)-1]...)
		forged[10]++ // a newer record number
		for range 10 {
			h.inject(thief, forged)
		}
		synctest.Wait()
		if n := s.count.Records.Get(counters.RecordUnknownAddress) - before; n < 20 {
			t.Errorf("%d records refused", n)
		}
		if got := r.there.a.RemoteAddr(); got.Port() != 1000 {
			t.Fatalf("moved to %v", got)
		}
		r.talk()
		time.Sleep(roamSilence)
		r.clientSocket.move("192.0.2.1:1001")
		r.talk()
		sent := h.sent()
		h.inject(netip.MustParseAddrPort("192.0.2.1:1000"), taped[0]) // the old address is unknown now
		synctest.Wait()
		if h.sent() != sent {
			t.Error("an unknown peer was answered")
		}
	})
}

// TestRoamIsBounded checks that a flood of records from unknown addresses causes a limited number of
// decryptions, and moves or ends no association.
func TestRoamIsBounded(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		r := s.roamer(t, h, "192.0.2.1:1000", nil)
		time.Sleep(time.Second)
		record := make([]byte, headerSize+40)
		putHeader(record, applicationData, r.there.a.top.Load(), 40)
		for n := range roamPerSecond/tryCost + 1000 {
			if n%1000 == 0 {
				synctest.Wait()
			}
			h.inject(netip.MustParseAddrPort("192.0.2.1:6666"), record)
		}
		synctest.Wait()
		if s.roaming.left > 0 {
			t.Errorf("%d left", s.roaming.left)
		}
		if len(s.roaming.found) != 0 {
			t.Error("something is kept")
		}
		r.talk()
		time.Sleep(time.Second)
		r.clientSocket.move("192.0.2.1:1001")
		r.talk()
	})
}

// TestRoamsAfterHours checks that the budget is correct after any time without records from unknown addresses.
func TestRoamsAfterHours(t *testing.T) {
	for _, quiet := range []time.Duration{3 * time.Hour, 400 * time.Hour, 5000 * time.Hour} {
		inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
			r := s.roamer(t, h, "192.0.2.7:4000", nil)
			time.Sleep(quiet)
			r.clientSocket.move("192.0.2.7:5000")
			r.talk()
		})
	}
}

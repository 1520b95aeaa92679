package dtls

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// sends are the times at which one side sent datagrams, from the start of the test.
type sends struct {
	mu    sync.Mutex
	times []time.Duration
}

func (s *sends) note(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Since(since))
}

// backsOff fails unless a flight was repeated soon, then less and less often, and to the end.
func (s *sends) backsOff(t *testing.T, what string, until time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.times)
	if n < 8 || n > 11 {
		t.Fatalf("%s: %d datagrams within %v: %v", what, n, until, s.times)
	}
	if first := s.times[1] - s.times[0]; first < flightIntervalMin || first > flightIntervalMax {
		t.Errorf("%s: repeated after %v", what, first)
	}
	for i := 2; i < n; i++ {
		before, gap := s.times[i-1]-s.times[i-2], s.times[i]-s.times[i-1]
		if gap < before || gap > 4*flightIntervalMax {
			t.Errorf("%s: after a pause of %v one of %v: %v", what, before, gap, s.times)
		}
	}
	if last := s.times[n-1]; until-last > 4*flightIntervalMax {
		t.Errorf("%s: nothing after %v: %v", what, last, s.times)
	}
}

// A client that hears nothing repeats its hello at once, then less and less often, and not when others do.
func TestAClientThatHearsNothingRepeatsLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		s := h.serve(t, nil)
		firsts := make(map[time.Duration]bool)
		for range 5 {
			var sent sends
			begun := time.Now()
			h.mu.Lock()
			h.pass = func(fromServer bool, _ []byte) int {
				if !fromServer {
					sent.note(begun)
				}
				return 0
			}
			h.mu.Unlock()
			if err := s.tryDial(5*time.Second, func(o *DialOptions) { o.Conn = h.enter(alice) }); err == nil {
				t.Fatal("in")
			}
			sent.backsOff(t, "hello", 5*time.Second)
			firsts[sent.times[1]] = true
		}
		if len(firsts) < 2 {
			t.Errorf("five clients repeat at the same time: %v", firsts)
		}
		s.Close()
	})
}

// A host whose client is gone repeats its flight less and less often, until the handshake is over.
func TestAHostRepeatsLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newNetwork()
		s := h.serve(t, nil)
		var sent sends
		begun := time.Now()
		h.pass = func(fromServer bool, b []byte) int {
			r, _, _ := nextRecord(b)
			m, _, _ := nextMessage(r.fragment)
			switch {
			case fromServer && m.typ != msgHelloVerify:
				sent.note(begun)
				return 0
			case !fromServer && len(sent.times) > 0:
				return 0
			}
			return 1
		}
		if err := s.tryDial(5*time.Second, func(o *DialOptions) { o.Conn = h.enter(alice) }); err == nil {
			t.Fatal("in")
		}
		time.Sleep(time.Second)
		sent.backsOff(t, "flight", 5*time.Second)
		s.Close()
	})
}

// A reader that was late finds the same message many times: it is looked at once.
func TestCopiesOfAMessageAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const copies = 12
		h := newNetwork()
		s := h.serve(t, nil)
		verifies := 0
		h.pass = func(fromServer bool, b []byte) int {
			r, _, _ := nextRecord(b)
			m, _, ok := nextMessage(r.fragment)
			switch {
			case fromServer && ok && m.typ == msgHelloVerify:
				verifies++
			case !fromServer && r.epoch == 0 && r.typ == handshake && m.typ == msgClientHello:
				return copies
			}
			return 1
		}
		talks(t, s.dialFrom(h, alice, nil), await(t, s.new))
		if verifies != 1 {
			t.Errorf("%d answers to copies of one hello", verifies)
		}
		if n := s.count.Records.Get(counters.RecordReplayed); n != 2*(copies-1) {
			t.Errorf("%d copies were dropped", n)
		}
		s.Close()
	})
}

// What the library wants to send again passes at its first, second, fourth, sixth and tenth time, and at every fourth from there; a flight of two datagrams
// passes whole or not at all, and a new flight begins anew.
func TestRepetitionsThatPass(t *testing.T) {
	message := func(sequence byte, typ byte) []byte {
		fragment := append([]byte{typ, 0, 0, 1, 0, sequence, 0, 0, 0, 0, 0, 1}, 7)
		return append([]byte{byte(handshake), 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(len(fragment))}, fragment...)
	}
	var r repeats
	for flight := range byte(2) {
		for n := range 20 {
			for part := range byte(2) {
				want := slices.Contains([]int{0, 1, 2, 4, 6, 10, 14, 18}, n)
				if got := r.pass(message(2*flight+part, msgServerHello)); got != want {
					t.Errorf("flight %d, time %d, part %d: %v", flight, n, part, got)
				}
			}
		}
	}
	finished := []byte{byte(changeCipherSpec), 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}
	if r.pass(message(2, msgServerHello)) || !r.pass(finished) {
		t.Error("the end of a resumption is held like the repetition before it")
	}
	r = repeats{}
	for range 5 {
		if !r.pass(message(0, msgHelloVerify)) {
			t.Error("an answer is held")
		}
	}
}

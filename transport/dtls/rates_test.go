package dtls

import (
	"net/netip"
	"testing"
	"time"
)

// The default lets 2,000 peers behind one address begin a handshake well within the reconnect
// window of 30 s.
func TestRateOfOneAddress(t *testing.T) {
	source := netip.MustParsePrefix("192.0.2.1/32")
	at := func(rate float64, tries int, every time.Duration) (allowed int) {
		s, now := newSourceRates(rate), time.Now()
		for i := range tries {
			if s.has(source, now.Add(time.Duration(i)*every)) {
				s.take(source)
				allowed++
			}
		}
		return allowed
	}
	rate := Options{}.filled().HelloRatePerIP
	if n := at(rate, 1000, 0); n != 200 {
		t.Errorf("a burst of %d", n)
	}
	if n := at(rate, 10000, time.Millisecond); n < 2000 {
		t.Errorf("%d in 10 s, want 2,000", n)
	}
	if n := at(0.2, 31, time.Second); n != 7 {
		t.Errorf("one in five seconds: %d in 30 s, want 7", n)
	}
}

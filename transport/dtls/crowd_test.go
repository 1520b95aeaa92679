package dtls

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

var crowd = flag.Int("crowd.handshakes", 0, "peers behind one address that begin a full handshake on loopback at the same moment; 0: a hundred, in virtual time")

// After a network failure, all players behind one address reconnect with full handshakes within the reconnect window.
// They must not evict each other's handshakes.
func TestAVenueBehindOneAddressShakesHands(t *testing.T) {
	const window = 30 * time.Second
	accept := acceptOne(func(a *Association) Handler { return newInbox(a) })
	if *crowd > 0 { // set by make proof-crowds
		s := listen(t, testOptions(), accept)
		in, took := s.crowd(*crowd, window, func(*DialOptions) {})
		if in != *crowd || took > window {
			t.Errorf("%d of %d in after %v", in, *crowd, took)
		}
		if n := s.count.Handshakes.Get(counters.HandshakeEvicted); n >= int64(*crowd) { // on a busy machine some are evicted, and try again
			t.Errorf("%d handshakes were given up for others of the same address", n)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) { // here computing takes no time, so every handshake proves its address in time
		h, o := newNetwork(), testOptions()
		o.Conn = h
		s := listen(t, o, accept)
		begun := time.Now()
		h.pass = func(fromServer bool, _ []byte) int { // drop the first answers, so that all handshakes run at the same time
			if fromServer && time.Since(begun) < 100*time.Millisecond {
				return 0
			}
			return 1
		}
		var ports atomic.Int32
		const peers = 100
		in, took := s.crowd(peers, window, func(o *DialOptions) { o.Conn = h.enter(fmt.Sprint("10.0.0.2:", 1000+ports.Add(1))) })
		if in != peers || took > 5*time.Second {
			t.Errorf("%d of %d in after %v", in, peers, took)
		}
		if n := s.count.Handshakes.Get(counters.HandshakeEvicted); n > 0 {
			t.Errorf("%d handshakes were given up for others of the same address", n)
		}
		if n := s.count.Handshakes.Get(counters.HandshakeRefusedPerIP); n < peers-64 {
			t.Errorf("%d found no room: nothing is shown", n)
		}
		s.Close()
	})
}

// crowd lets many peers begin a handshake at the same moment and retry during the window. It returns how
// many have succeeded, and how long that took.
func (s *server) crowd(peers int, window time.Duration, change func(*DialOptions)) (int, time.Duration) {
	begun := time.Now()
	var in, tries atomic.Int64
	var wg sync.WaitGroup
	for range peers {
		wg.Go(func() {
			for time.Since(begun) < window {
				tries.Add(1)
				if s.tryDial(5*time.Second, change) == nil {
					in.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	took, count := time.Since(begun), &s.count.Handshakes
	s.Logf("%d of %d in after %v, %d tries; refused for the rate %d, per address %d, given up for others %d", in.Load(), peers, took, tries.Load(),
		count.Get(counters.HandshakeRefusedRate), count.Get(counters.HandshakeRefusedPerIP), count.Get(counters.HandshakeEvicted))
	return int(in.Load()), took
}

type acceptOne func(a *Association) Handler

func (f acceptOne) Accept(a *Association) Handler { return f(a) }

package dtls

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages/counters"
)

// The full size is that of `make proof-crowds`.
var crowd = flag.Int("crowd.handshakes", 100, "peers behind one address that begin a full handshake at the same moment")

// A venue whose link was away comes back inside the window in which seats are kept,
// with full handshakes, though all its players are one address. They do not end one
// another's handshakes.
func TestAVenueBehindOneAddressShakesHands(t *testing.T) {
	s := serveWith(t, acceptOne(func(a *Association) Handler { return newInbox(a) }))
	const window = 30 * time.Second
	begun := time.Now()
	var in, tries atomic.Int64
	var wg sync.WaitGroup
	for range *crowd {
		wg.Go(func() {
			for time.Since(begun) < window {
				tries.Add(1)
				if s.tryDial(5*time.Second, func(*DialOptions) {}) == nil {
					in.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	took, count := time.Since(begun), &s.count.Handshakes
	t.Logf("%d of %d in after %v, %d tries; refused for the rate %d, per address %d, given up for others %d", in.Load(), *crowd, took, tries.Load(),
		count.Get(counters.HandshakeRefusedRate), count.Get(counters.HandshakeRefusedPerIP), count.Get(counters.HandshakeEvicted))
	if in.Load() != int64(*crowd) || took > window {
		t.Errorf("%d of %d in after %v", in.Load(), *crowd, took)
	}
	if n := count.Get(counters.HandshakeEvicted); n >= int64(*crowd) { // on a busy machine some are, and try again
		t.Errorf("%d handshakes were given up for others of the same address", n)
	}
}

type acceptOne func(a *Association) Handler

func (f acceptOne) Accept(a *Association) Handler { return f(a) }

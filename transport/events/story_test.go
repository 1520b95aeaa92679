package events

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// endpoint is the receiver of a sink during all processes of a story.
type endpoint struct {
	mu    sync.Mutex
	rand  *rand.Rand
	down  bool
	took  []string // ids of the received events, in order
	twice int      // number of events that were received, but whose response was lost
}

func (p *endpoint) deliver(ctx context.Context, i *item) error {
	p.mu.Lock()
	wait := time.Duration(p.rand.IntN(200)) * time.Millisecond
	p.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down || p.rand.IntN(4) == 0 {
		return errDown
	}
	p.took = append(p.took, i.event.ID)
	if p.rand.IntN(10) == 0 { // the response is lost
		p.twice++
		return errDown
	}
	return nil
}

func (p *endpoint) close() {}

// socket is a shelf that a killed host can no longer reach.
type socket struct {
	*shelf
	off atomic.Bool
}

func (s *socket) Commit(changes []Change, done func(error)) {
	if s.off.Load() {
		done(errDown)
		return
	}
	s.shelf.Commit(changes, done)
}

// tell runs one random story. Events arrive while sinks fail, go down and come back, while the outbox refuses
// commits, and while the host stops or is killed, and starts again. In the end, every sink has received every
// event, and the events of one placement in order. Lost responses and kills explain all repeated events. The
// outbox is empty.
func tell(t *testing.T, seed uint64, kills bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	s := new(shelf)
	pauses := rand.New(rand.NewPCG(seed, 100)) // used by the keeper only
	s.slow = func() time.Duration { return time.Duration(pauses.IntN(30)) * time.Millisecond }
	ends := make([]*endpoint, 1+r.IntN(3))
	var sinks []SinkOptions
	for i := range ends {
		ends[i] = &endpoint{rand: rand.New(rand.NewPCG(seed, uint64(i+2)))}
		sinks = append(sinks, raw(fmt.Sprint("sink-", i), "http://host.invalid"))
		sinks[i].Targets = append(sinks[i].Targets, topic+".fifo")
	}
	var power *socket
	run := func() *Dispatcher {
		ready := make(chan struct{})
		s.during = func() { <-ready } // no event is delivered before the endpoints are in place
		power = &socket{shelf: s}
		d, err := New(Options{Sinks: sinks, Outbox: power, Counters: new(counters.Set), queue: 1 + r.IntN(8)})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range ends {
			d.instead(i, p)
		}
		close(ready)
		return d
	}
	d := run()
	forgotten := 0 // deliveries that a killed host had recorded in memory only
	var ids []string
	placements := map[string][]string{}
	for n := range 150 {
		subject := fmt.Sprint("p-", r.IntN(6))
		e := placed(n, subject)
		if r.IntN(4) == 0 { // a FIFO topic: the events of all placements of the queue are in order
			e.Target, subject = topic+".fifo", "fifo"
		}
		ids = append(ids, e.ID)
		placements[subject] = append(placements[subject], e.ID)
		s.post(d, e)
		switch r.IntN(12) {
		case 0:
			p := ends[r.IntN(len(ends))]
			p.mu.Lock()
			p.down = !p.down
			p.mu.Unlock()
		case 1:
			s.setRefuse(nil)
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(300))*time.Millisecond)
			killed := kills && r.IntN(2) == 0
			if power.off.Store(killed); killed {
				cancel()
			}
			d.Close(ctx)
			cancel()
			for _, i := range d.current.Load().items {
				forgotten += bits.OnesCount32(uint32(i.has &^ i.stored))
			}
			d = run()
		case 2:
			if s.setRefuse(nil); r.IntN(2) == 0 {
				s.setRefuse(errDown)
			}
		}
		time.Sleep(time.Duration(r.IntN(3)) * 50 * time.Millisecond)
	}
	s.setRefuse(nil)
	for _, p := range ends {
		p.mu.Lock()
		p.down = false
		p.mu.Unlock()
	}
	time.Sleep(50 * time.Minute)
	synctest.Wait()
	end(d)
	if left := s.left(); len(left) > 0 || len(d.current.Load().items) > 0 || d.current.Load().behind != 0 {
		t.Errorf("seed %d: left %v, %d in memory, behind %b", seed, left, len(d.current.Load().items), d.current.Load().behind)
	}
	for i, p := range ends {
		if extra := len(p.took) - len(ids); extra < 0 || extra > p.twice+forgotten {
			t.Errorf("seed %d: sink %d took %d, of %d events, with %d lost answers", seed, i, len(p.took), len(ids), p.twice)
		}
		for about, want := range placements {
			var got []string
			for _, id := range p.took {
				again := slices.Contains(got, id) // a repetition, because the host was killed
				if slices.Contains(want, id) && (len(got) == 0 || got[len(got)-1] != id) && !(again && kills) {
					got = append(got, id)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: sink %d, %s: got %v, want %v", seed, i, about, got, want)
			}
		}
	}
}

func TestEverySinkHasEveryEventWhateverHappens(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { tell(t, seed, seed%2 == 1) })
		if t.Failed() {
			return
		}
	}
}

package kcp

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/transport/dtls"
)

var errPathClosed = errors.New("path closed")

// weather has the probabilities with which a path loses, doubles and reorders datagrams, and its delays.
type weather struct {
	loss, double, reorder float64
	delay, jitter         time.Duration
}

// path is one direction between two ends. It has the datagrams in flight, and a timer while there
// are any. It has no goroutine of its own.
type path struct {
	mu      sync.Mutex
	rng     *rand.Rand
	weather weather
	lose    func(b []byte) bool // loses datagrams by content; if nil, only weather decides
	on      []flying            // datagrams in flight, sorted by arrival
	seq     int
	running bool
	to      dtls.Handler
	closed  bool
	written int
	seen    func(b []byte) // called with every datagram that arrives; may be nil
	busy    sync.Mutex     // held during OnRecord
}

type flying struct {
	at  time.Time
	seq int
	b   []byte
}

func (p *path) set(w weather) {
	p.mu.Lock()
	p.weather = w
	p.mu.Unlock()
}

// sent returns how many datagrams were written.
func (p *path) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

func (p *path) loseIf(f func(b []byte) bool) {
	p.mu.Lock()
	p.lose = f
	p.mu.Unlock()
}

func (p *path) send(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.written++
	w := p.weather
	copies := 1
	if p.rng.Float64() < w.loss || p.lose != nil && p.lose(b) {
		copies = 0
	} else if p.rng.Float64() < w.double {
		copies = 2
	}
	for range copies {
		d := w.delay
		if w.jitter > 0 {
			d += time.Duration(p.rng.Int64N(int64(w.jitter)))
		}
		if p.rng.Float64() < w.reorder {
			d += 2*w.jitter + 3*time.Millisecond
		}
		p.seq++
		f := flying{time.Now().Add(d), p.seq, slices.Clone(b)}
		i, _ := slices.BinarySearchFunc(p.on, f, func(a, b flying) int {
			if c := a.at.Compare(b.at); c != 0 {
				return c
			}
			return a.seq - b.seq
		})
		p.on = slices.Insert(p.on, i, f)
	}
	p.kick()
	return true
}

// kick starts the delivery of the datagrams in flight. The caller holds mu.
func (p *path) kick() {
	if p.running || len(p.on) == 0 {
		return
	}
	p.running = true
	// The delay is at least 1 ns: in a bubble, Go 1.26 runs a timer without a delay in the goroutine that sets it, and
	// two of them at the same time crash the race detector.
	time.AfterFunc(max(time.Until(p.on[0].at), 1), p.arrive)
}

func (p *path) arrive() {
	for {
		p.mu.Lock()
		if len(p.on) == 0 || p.on[0].at.After(time.Now()) {
			p.running = false
			p.kick()
			p.mu.Unlock()
			return
		}
		f := p.on[0]
		p.on = slices.Delete(p.on, 0, 1)
		to, seen := p.to, p.seen
		p.mu.Unlock()
		if seen != nil {
			seen(f.b)
		}
		if to != nil {
			p.busy.Lock()
			to.OnRecord(f.b)
			p.busy.Unlock()
		}
	}
}

func (p *path) shut() {
	p.mu.Lock()
	p.closed, p.on = true, nil
	p.mu.Unlock()
}

// end is one end of a network. It is the Carrier of one engine.
type end struct {
	name     byte
	out, in  *path
	once     sync.Once
	peer     *end
	silently bool // Close does not notify the peer
	unread   atomic.Bool
}

func (e *end) Write(b []byte) bool {
	if len(b) > dtls.PlainMax {
		panic("datagram too large")
	}
	return e.out.send(b)
}

func (e *end) Unread() bool { return e.unread.Load() }

func (e *end) RemoteAddr() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, e.name}), 4000)
}

func (e *end) Close() { e.close(dtls.ErrClosed) }

// close ends this end. It also ends the other one, as a close_notify would.
func (e *end) close(err error) {
	e.once.Do(func() {
		e.out.shut()
		e.in.shut()
		if !e.silently {
			go e.peer.close(dtls.ErrPeerClosed)
		}
		go func() {
			e.in.busy.Lock() // after the current record
			defer e.in.busy.Unlock()
			if h := e.in.handlerNow(); h != nil {
				h.OnClosed(err)
			}
		}()
	})
}

func (p *path) handlerNow() dtls.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to
}

func (p *path) connect(h dtls.Handler) {
	p.mu.Lock()
	p.to = h
	p.mu.Unlock()
}

// network makes two ends. Their path up goes from b to a.
func network(seed uint64, w weather) (a, b *end) {
	down := &path{rng: rand.New(rand.NewPCG(seed, 1)), weather: w}
	up := &path{rng: rand.New(rand.NewPCG(seed, 2)), weather: w}
	a = &end{name: 1, out: down, in: up}
	b = &end{name: 2, out: up, in: down}
	a.peer, b.peer = b, a
	return a, b
}

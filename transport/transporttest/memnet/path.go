package memnet

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

const (
	// headerBytes is what IP and UDP add to a datagram.
	headerBytes = 28
	// flyingMax is how many datagrams may be under way on a path.
	flyingMax = 4096
	// heldMin and heldMax are how much later than due a reordered datagram, or the
	// second copy of one, arrives.
	heldMin, heldMax = 5 * time.Millisecond, 40 * time.Millisecond
)

// Condition is what one direction does to what travels on it. The zero value
// delivers everything at once. Probabilities are from 0 to 1 and hold for each
// datagram, and each segment of a stream.
type Condition struct {
	Delay     time.Duration // one way
	Jitter    time.Duration // added to or taken from Delay, at most; keeps the order
	Loss      float64       // lost; of a stream: sent again later
	Duplicate float64       // arrives twice; streams hide it
	Reorder   float64       // held back, so that later ones overtake it; of a stream: all behind it waits
	MTU       int           // bytes of the largest datagram that passes, 28 of headers included; 0: no limit
}

// Stats are counts of datagrams and of segments. Those under way are in none but
// Sent.
type Stats struct {
	Sent       int64 // handed to the path, a segment once for every time it was sent
	Bytes      int64 // of Sent, without headers
	Delivered  int64 // put into the queue of a socket
	Lost       int64 // by chance or on a blocked path
	Duplicated int64 // second copies
	Reordered  int64 // datagrams delivered after one that was sent later
	TooBig     int64 // over the MTU
	Overflow   int64 // a queue was full
	Nobody     int64 // no socket there
}

func (s *Stats) add(o Stats) {
	s.Sent += o.Sent
	s.Bytes += o.Bytes
	s.Delivered += o.Delivered
	s.Lost += o.Lost
	s.Duplicated += o.Duplicated
	s.Reordered += o.Reordered
	s.TooBig += o.TooBig
	s.Overflow += o.Overflow
	s.Nobody += o.Nobody
}

// Path is one direction between two addresses. The network's lock guards it.
type Path struct {
	n       *Network
	dir     direction
	rng     *rand.Rand
	cond    Condition
	blocked bool
	stats   Stats

	flying  int       // datagrams under way
	lastDue time.Time // of those that were not held back
	number  uint64    // of the last datagram sent
	newest  uint64    // of the newest delivered
}

func newPath(n *Network, d direction) *Path {
	h := fnv.New64a()
	from, to := d.from.As16(), d.to.As16()
	_, _ = h.Write(from[:])
	_, _ = h.Write(to[:])
	return &Path{n: n, dir: d, rng: rand.New(rand.NewPCG(n.seed, h.Sum64())), cond: n.base}
}

// Set changes the condition for what is sent from now on.
func (p *Path) Set(c Condition) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.cond = c
}

// Block makes everything vanish, what is under way included, or opens the path
// again.
func (p *Path) Block(on bool) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.blocked = on
}

// Stats returns the counts so far.
func (p *Path) Stats() Stats {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	return p.stats
}

func (p *Path) dark() bool {
	return p.blocked || p.n.dark || p.n.darkFrom[p.dir.from] || p.n.darkTo[p.dir.to]
}

// hit throws the dice. Nothing is drawn for what cannot happen.
func (p *Path) hit(probability float64) bool {
	return probability > 0 && p.rng.Float64() < probability
}

// delay draws the time that one datagram takes.
func (p *Path) delay() time.Duration {
	d := p.cond.Delay
	if j := p.cond.Jitter; j > 0 {
		d += time.Duration(p.rng.Int64N(int64(2*j))) - j
	}
	return max(d, 0)
}

func (p *Path) held() time.Duration {
	return heldMin + time.Duration(p.rng.Int64N(int64(heldMax-heldMin)))
}

// send puts one datagram on its way. It keeps b.
func (p *Path) send(d datagram) {
	p.stats.Sent++
	p.stats.Bytes += int64(len(d.b))
	p.number++
	d.number = p.number
	switch {
	case p.cond.MTU > 0 && len(d.b)+headerBytes > p.cond.MTU:
		p.stats.TooBig++
		return
	case p.dark() || p.hit(p.cond.Loss):
		p.stats.Lost++
		return
	}
	now := time.Now()
	due := now.Add(p.delay())
	if due.Before(p.lastDue) {
		due = p.lastDue
	}
	if p.hit(p.cond.Reorder) {
		p.carry(d, now, due.Add(p.held()))
	} else {
		p.lastDue = due
		p.carry(d, now, due)
	}
	if p.hit(p.cond.Duplicate) {
		p.stats.Duplicated++
		p.carry(d, now, due.Add(p.held()))
	}
}

// carry delivers d when it is due.
func (p *Path) carry(d datagram, now, due time.Time) {
	switch {
	case p.flying >= flyingMax:
		p.stats.Overflow++
	case p.flying == 0 && !due.After(now):
		p.arrive(d)
	default:
		p.flying++
		p.n.at(due, func(time.Time) {
			p.flying--
			p.arrive(d)
		})
	}
}

// arrive puts d into its socket's queue.
func (p *Path) arrive(d datagram) {
	c := socketAt(p.n.packets, d.to)
	switch {
	case p.dark():
		p.stats.Lost++
	case c == nil:
		p.stats.Nobody++
	case !c.push(d):
		p.stats.Overflow++
	default:
		p.stats.Delivered++
		if d.number < p.newest {
			p.stats.Reordered++
		}
		p.newest = max(p.newest, d.number)
	}
}

package memnet

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

const (
	// headerBytes is the size of the IP and UDP headers of a datagram.
	headerBytes = 28
	// flyingMax is the maximum number of datagrams in transit on a path.
	flyingMax = 4096
	// heldMin and heldMax limit the additional delay of a reordered datagram, or of the second copy of a
	// datagram.
	heldMin, heldMax = 5 * time.Millisecond, 40 * time.Millisecond
)

// Condition is how one direction of a path treats traffic. The zero value delivers everything immediately.
// Probabilities are from 0 to 1, for each datagram and each segment of a stream.
type Condition struct {
	Delay     time.Duration // one-way delay
	Jitter    time.Duration // maximum deviation from Delay in either direction; preserves the order
	Loss      float64       // probability of loss; a stream sends a lost segment again later
	Duplicate float64       // probability that a datagram arrives twice; no effect on streams
	Reorder   float64       // probability of an extra delay, so that later datagrams overtake; in a stream, all later segments wait
	MTU       int           // maximum bytes of a datagram, including 28 bytes of headers; 0: no limit
}

// Stats counts datagrams and segments. Those in transit are only in Sent and Bytes.
type Stats struct {
	Sent       int64 // sent on the path; a segment counts each time it is sent
	Bytes      int64 // bytes of Sent without headers
	Delivered  int64 // added to the queue of a socket
	Lost       int64 // lost at random, or on a blocked path
	Duplicated int64 // second copies
	Reordered  int64 // datagrams that were delivered after a later one
	TooBig     int64 // larger than the MTU
	Overflow   int64 // dropped because a queue was full
	Nobody     int64 // sent to an address without a socket
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

	flying  int       // datagrams in transit
	lastDue time.Time // latest delivery time of a datagram without extra delay
	number  uint64    // number of the last datagram sent
	newest  uint64    // highest number of a delivered datagram
}

func newPath(n *Network, d direction) *Path {
	h := fnv.New64a()
	from, to := d.from.As16(), d.to.As16()
	_, _ = h.Write(from[:])
	_, _ = h.Write(to[:])
	return &Path{n: n, dir: d, rng: rand.New(rand.NewPCG(n.seed, h.Sum64())), cond: n.base}
}

// Set changes the condition for traffic that is sent from now on.
func (p *Path) Set(c Condition) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.cond = c
}

// Block drops all traffic, including what is in transit, or unblocks the path.
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

// hit returns true with the given probability. It draws no random number if the probability is 0.
func (p *Path) hit(probability float64) bool {
	return probability > 0 && p.rng.Float64() < probability
}

// delay draws the transit time of a datagram.
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

// send sends a datagram. It takes ownership of d.b.
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

// carry delivers d at the time due.
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

// arrive adds d to the queue of its destination socket.
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

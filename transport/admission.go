package transport

import (
	"net/netip"
	"sync"
	"time"

	"troupe/messages/counters"
)

// AdmissionLimits bound connections without a login (reliability.md 5.2). Zero switches a limit off; without HeldMax none is held.
type AdmissionLimits struct {
	PendingMax      int     // connections without a login, in all
	PendingPerIPMax int     // the same per IP address (per /64 for IPv6)
	RatePerIP       float64 // new connections per second and IP address
	BurstPerIP      int     // burst of that rate

	HeldMax      int           // accepted connections that wait for admission, in all
	HeldPerIPMax int           // the same per IP address
	HeldFor      time.Duration // how long one waits at most; default 10 s
}

const (
	// networkFactor is the limit of a /48, whose owner has 65,536 sources, as a multiple of the limit of a /64.
	networkFactor = 8
	// silentFor is how long a pending connection may be silent before it can be evicted for another one of its source: a lost packet
	// and its retransmission. loginFor is the same for one whose LOGIN is being answered.
	silentFor = time.Second
	loginFor  = 5 * time.Second
	// victimsMax is how many of the oldest connections are compared to choose the one to evict.
	victimsMax = 32
	// heldTick is how often held connections are checked, peeksMax of a source. Most are admitted earlier, when another one logs in.
	heldTick = 25 * time.Millisecond
	peeksMax = 8
	// forgetAfter is how long a source without connections is remembered: longer than its bucket needs to fill up again.
	forgetAfter = 30 * time.Second
)

// Admission bounds connections that have not logged in. It has three rules:
//
//   - If a source is over its limits, its connections wait (Ticket.Wait). Each login returns its share of the rate and raises the
//     number that may be pending, so a crowd behind one address is admitted as fast as it logs in.
//   - If the pool is full, the oldest silent connection is evicted from the sources with the most connections.
//   - An IPv6 source is a /64. The /48 around it has a limit, too.
//
// Safe for concurrent use.
type Admission struct {
	limits AdmissionLimits
	count  *counters.Set
	now    func() time.Time

	mu sync.Mutex
	tally
	sources map[netip.Prefix]*source
	waiting map[*source]struct{} // those with held connections
	queues  [queueCount]queue    // all tickets, by state
	swept   time.Time
	timer   *time.Timer // running while connections are held
}

// source is a range of addresses that one peer may control: an IPv4 address, a /64 of IPv6,
// or the /48 around it.
type source struct {
	network *source // the /48 around a /64; nil
	factor  int
	tally
	earned int // how many more may be pending, for their logins
	tokens float64
	filled time.Time
	seen   time.Time
	queues [queueCount]queue
}

// NewAdmission returns an Admission that reads the clock through now.
func NewAdmission(limits AdmissionLimits, count *counters.Set, now func() time.Time) *Admission {
	if limits.HeldFor <= 0 {
		limits.HeldFor = 10 * time.Second
	}
	return &Admission{limits: limits, count: count, now: now, sources: make(map[netip.Prefix]*source), waiting: make(map[*source]struct{})}
}

// Pending returns the number of connections without a login.
func (a *Admission) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending
}

// sourceOf returns the source of an address, and fills its bucket up to now.
func (a *Admission) sourceOf(ip netip.Addr, now time.Time) *source {
	a.sweep(now)
	s := a.sourceAt(SourceOf(ip), 1, now)
	if ip = ip.Unmap(); ip.Is6() {
		p, _ := ip.Prefix(48)
		s.network = a.sourceAt(p, networkFactor, now)
	}
	return s
}

func (a *Admission) sourceAt(key netip.Prefix, factor int, now time.Time) *source {
	s := a.sources[key]
	if s == nil {
		s = &source{factor: factor, filled: now, tokens: float64(factor * max(a.limits.BurstPerIP, 1))}
		a.sources[key] = s
	}
	s.seen = now
	return s
}

// sweep forgets quiet sources once per forgetAfter, so that the map is bounded by the sources seen in that time.
func (a *Admission) sweep(now time.Time) {
	if now.Sub(a.swept) < forgetAfter {
		return
	}
	a.swept = now
	for key, s := range a.sources {
		s.earned /= 2
		if s.pending == 0 && s.held == 0 && now.Sub(s.seen) >= forgetAfter {
			delete(a.sources, key)
		}
	}
}

// fill adds the tokens for the time since the last fill.
func (s *source) fill(l *AdmissionLimits, now time.Time) {
	f := float64(s.factor)
	s.tokens = min(f*float64(max(l.BurstPerIP, 1)), s.tokens+now.Sub(s.filled).Seconds()*f*l.RatePerIP)
	s.filled = now
}

// pendingMax is the limit of the source plus the number earned by logins, up to a quarter of the pool.
func (s *source) pendingMax(l *AdmissionLimits) int {
	most := s.factor * l.PendingPerIPMax
	if l.PendingMax <= 0 {
		return most + s.earned
	}
	return most + min(s.earned, max(0, l.PendingMax/4-most))
}

// refusal returns why a connection of the source cannot be admitted now, 0 if it can.
func (a *Admission) refusal(s *source, now time.Time) counters.Refusal {
	l := &a.limits
	for at := s; at != nil; at = at.network {
		if at.fill(l, now); l.RatePerIP > 0 && at.tokens < 1 {
			return counters.RefusedRatePerIP
		}
	}
	for at := s; at != nil; at = at.network {
		if l.PendingPerIPMax > 0 && at.pending >= at.pendingMax(l) && oldestOver(&at.queues, now) == nil {
			return counters.RefusedPendingPerIP
		}
	}
	if l.PendingMax > 0 && a.pending >= l.PendingMax && a.victim(s, now) == nil {
		return counters.RefusedPendingTotal
	}
	return 0
}

// grant admits t, after refusal has returned 0, and returns the connections to evict.
func (a *Admission) grant(t *Ticket, now time.Time) (evicted []*Ticket) {
	l := &a.limits
	evict := func(v *Ticket) {
		if v != nil {
			a.remove(v)
			a.count.Refused.Add(counters.RefusedEvicted, 1)
			evicted = append(evicted, v)
		}
	}
	for at := t.source; at != nil; at = at.network {
		at.tokens--
		if l.PendingPerIPMax > 0 && at.pending >= at.pendingMax(l) {
			evict(oldestOver(&at.queues, now))
		}
	}
	if l.PendingMax > 0 && a.pending >= l.PendingMax {
		evict(a.victim(t.source, now))
	}
	a.insert(t, silent, now)
	return evicted
}

// oldestOver returns the oldest pending connection that has been silent for too long, nil without one.
func oldestOver(q *[queueCount]queue, now time.Time) *Ticket {
	if t := q[silent].First(); t != nil && now.Sub(t.since) >= silentFor {
		return t
	}
	if t := q[answering].First(); t != nil && now.Sub(t.since) >= loginFor {
		return t
	}
	return nil
}

// victim returns the connection to evict for one of source s when the pool is full: of the oldest silent ones, that whose source has the
// most pending. If it has not been silent for too long, its source must keep more connections than s gets.
func (a *Admission) victim(s *source, now time.Time) (v *Ticket) {
	mine, seen := 0, 0
	if s != nil {
		mine = s.pending
	}
	for t := range a.queues[silent].All() {
		if seen++; seen > victimsMax {
			break
		}
		if t.source == nil || t.source.pending <= mine+1 && now.Sub(t.since) < silentFor {
			continue
		}
		if v == nil || t.source.pending > v.source.pending {
			v = t
		}
	}
	if v == nil {
		v = oldestOver(&a.queues, now)
	}
	return v
}

// SourceOf groups addresses that one peer controls: a single IPv4 address, a /64 of IPv6.
func SourceOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // invalid for an invalid address
	return p
}

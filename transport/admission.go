package transport

import (
	"net/netip"
	"sync"
	"time"

	"troupe/messages/counters"
)

// AdmissionLimits limit connections without a login (reliability.md 5.2). Zero disables a limit, except
// HeldMax: if that is zero, no connection may wait.
type AdmissionLimits struct {
	PendingMax      int     // connections without a login, in total
	PendingPerIPMax int     // connections without a login per IP address (per /64 for IPv6)
	RatePerIP       float64 // new connections per second for each IP address
	BurstPerIP      int     // burst of that rate

	HeldMax      int           // accepted connections that wait for admission, in total
	HeldPerIPMax int           // accepted connections that wait for admission, per IP address and per /48 of IPv6
	HeldFor      time.Duration // longest wait of a connection; default 10 s
}

const (
	// networkFactor is the limit of a /48 of IPv6, as a multiple of the limit of a /64. The owner of a /48 has 65,536 sources.
	networkFactor = 8
	// silentFor is how long a pending connection may be silent before another one of its source may evict it. It allows
	// for a lost packet and its retransmission. loginFor is the same limit for a connection whose LOGIN is being answered.
	silentFor = time.Second
	loginFor  = 5 * time.Second
	// victimsMax is how many of the oldest connections are compared to choose the one to evict.
	victimsMax = 32
	// heldTick is the interval at which waiting connections are checked, up to peeksMax per source. Most connections
	// are admitted earlier, when another one logs in.
	heldTick = 25 * time.Millisecond
	peeksMax = 8
	// forgetAfter is how long a source without connections is remembered. It must be longer
	// than the time in which its bucket fills up.
	forgetAfter = 30 * time.Second
)

// Admission limits connections that have not logged in. It has three rules:
//
//   - If a source is over its limits, its connections wait (Ticket.Wait). Each login gives one token back to the rate and
//     raises the number of connections that may be pending. So many players behind one address are admitted as fast as they
//     log in.
//   - If PendingMax is reached, the oldest silent connection is evicted, from the source with the most connections.
//   - An IPv6 source is a /64. The /48 around it has a limit, too.
//
// An Admission is safe for concurrent use.
type Admission struct {
	limits AdmissionLimits
	count  *counters.Set
	now    func() time.Time

	mu sync.Mutex
	tally
	sources map[netip.Prefix]*source
	waiting map[*source]struct{} // sources with waiting connections
	queues  [queueCount]queue    // all tickets, by state
	swept   time.Time
	timer   *time.Timer // running while connections wait
}

// source is a range of addresses that one peer may control: an IPv4 address, a /64 of IPv6,
// or the /48 around it.
type source struct {
	network *source // the /48 around a /64; otherwise nil
	factor  int
	tally
	earned int // how many more connections may be pending because of earlier logins
	tokens float64
	filled time.Time
	seen   time.Time
	queues [queueCount]queue
}

// NewAdmission returns an Admission. It reads the clock with now.
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

// sourceOf returns the source of an address, and creates it if necessary.
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

// sweep deletes idle sources once per forgetAfter. So the size of the map is bounded by the number of sources seen in that time.
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

// pendingMax returns the limit of the source plus the number earned by logins. The earned part is limited to a quarter of the pool.
func (s *source) pendingMax(l *AdmissionLimits) int {
	most := s.factor * l.PendingPerIPMax
	if l.PendingMax <= 0 {
		return most + s.earned
	}
	return most + min(s.earned, max(0, l.PendingMax/4-most))
}

// refusal returns why a connection of the source cannot be admitted now, or 0 if it can.
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

// grant admits t and returns the connections to evict. refusal must have returned 0 before.
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

// oldestOver returns the oldest pending connection that has been silent for too long, or nil.
func oldestOver(q *[queueCount]queue, now time.Time) *Ticket {
	if t := q[silent].First(); t != nil && now.Sub(t.since) >= silentFor {
		return t
	}
	if t := q[answering].First(); t != nil && now.Sub(t.since) >= loginFor {
		return t
	}
	return nil
}

// weight is the number of pending connections of the source, or of its network for each source that such a network may
// have, if that is more.
func (s *source) weight() int {
	switch {
	case s == nil:
		return 0
	case s.network == nil:
		return s.pending
	}
	return max(s.pending, s.network.pending/s.network.factor)
}

// victim returns the connection to evict for a new one of source s when PendingMax is reached. Of the oldest silent
// connections it takes one whose source has the most pending connections (see weight). A connection that has
// been silent for less than silentFor is a candidate only if its source keeps more connections than s will have.
func (a *Admission) victim(s *source, now time.Time) (v *Ticket) {
	mine, seen := s.weight(), 0
	for t := range a.queues[silent].All() {
		if seen++; seen > victimsMax {
			break
		}
		if t.source == nil || t.source.weight() <= mine+1 && now.Sub(t.since) < silentFor {
			continue
		}
		if v == nil || t.source.weight() > v.source.weight() {
			v = t
		}
	}
	if v == nil {
		v = oldestOver(&a.queues, now)
	}
	return v
}

// SourceOf returns the range of addresses that one peer controls: a single IPv4 address, or a /64 of IPv6.
func SourceOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // not valid if ip is not valid
	return p
}

package transport

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"troupe/messages/counters"
)

// AdmissionLimits bound what peers without a login may cost (reliability.md
// 5.2). Zero switches a limit off.
type AdmissionLimits struct {
	PendingMax      int     // connections without a login, in all
	PendingPerIPMax int     // the same per IP address (per /64 for IPv6)
	RatePerIP       float64 // new connections per second and IP address
	BurstPerIP      int     // burst of that rate
}

// Admission counts connections that have not logged in and refuses those over
// the limits. Safe for concurrent use.
type Admission struct {
	limits AdmissionLimits
	count  *counters.Set
	now    func() time.Time

	mu      sync.Mutex
	pending int
	byIP    map[netip.Prefix]*ipState
	swept   time.Time
}

type ipState struct {
	pending int
	rate    *rate.Limiter
	seen    time.Time
}

// forgetAfter is how long an address without pending connections is remembered:
// longer than its bucket needs to fill up again.
const forgetAfter = 30 * time.Second

// NewAdmission returns an Admission that reads the clock through now.
func NewAdmission(limits AdmissionLimits, count *counters.Set, now func() time.Time) *Admission {
	return &Admission{limits: limits, count: count, now: now, byIP: make(map[netip.Prefix]*ipState)}
}

// Ticket is one pending connection. Leave must be called once it logs in or
// ends; further calls do nothing.
type Ticket struct {
	a   *Admission
	key netip.Prefix
	// guarded by a.mu
	left bool
}

// Enter asks for a place for a new connection from ip. Without one, the
// refusal is counted and returned, and the connection should be closed at once.
func (a *Admission) Enter(ip netip.Addr) (*Ticket, counters.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, key := a.now(), SourceOf(ip)
	a.sweep(now)
	st := a.byIP[key]
	if st == nil {
		st = &ipState{}
		if a.limits.RatePerIP > 0 {
			st.rate = rate.NewLimiter(rate.Limit(a.limits.RatePerIP), max(a.limits.BurstPerIP, 1))
		}
		a.byIP[key] = st
	}
	st.seen = now
	switch {
	case st.rate != nil && !st.rate.AllowN(now, 1):
		return nil, a.refuse(counters.RefusedRatePerIP)
	case a.limits.PendingPerIPMax > 0 && st.pending >= a.limits.PendingPerIPMax:
		return nil, a.refuse(counters.RefusedPendingPerIP)
	case a.limits.PendingMax > 0 && a.pending >= a.limits.PendingMax:
		return nil, a.refuse(counters.RefusedPendingTotal)
	}
	st.pending++
	a.pending++
	return &Ticket{a: a, key: key}, 0
}

// Pending returns the number of connections without a login.
func (a *Admission) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending
}

func (a *Admission) refuse(r counters.Refusal) counters.Refusal {
	a.count.Refused.Add(r, 1)
	return r
}

// sweep forgets quiet addresses, at most once per forgetAfter, so that the map
// is bounded by the addresses seen in that time.
func (a *Admission) sweep(now time.Time) {
	if now.Sub(a.swept) < forgetAfter {
		return
	}
	a.swept = now
	for key, st := range a.byIP {
		if st.pending == 0 && now.Sub(st.seen) >= forgetAfter {
			delete(a.byIP, key)
		}
	}
}

// Leave gives the place back. Safe on a nil ticket.
func (t *Ticket) Leave() {
	if t == nil {
		return
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	t.a.pending--
	if st := t.a.byIP[t.key]; st != nil {
		st.pending--
	}
}

// SourceOf groups addresses that one peer controls: a single IPv4 address, a
// /64 of IPv6.
func SourceOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

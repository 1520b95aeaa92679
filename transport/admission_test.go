package transport

import (
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages/counters"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func enterAs(a *Admission, ip netip.Addr) (*Ticket, counters.Refusal) {
	t := a.Ticket(ip)
	if why := t.Enter(); why != 0 {
		return nil, why
	}
	return t, 0
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// RL-26, RL-201.
func TestAdmissionBoundsPendingConnections(t *testing.T) {
	count := new(counters.Set)
	now := time.Unix(1000, 0)
	a := NewAdmission(AdmissionLimits{PendingMax: 3, PendingPerIPMax: 2}, count, func() time.Time { return now })
	enter := func(ip string, want counters.Refusal) *Ticket {
		t.Helper()
		ticket, refusal := enterAs(a, addr(ip))
		if refusal != want || (ticket == nil) != (want != 0) {
			t.Errorf("%s: refusal %v, want %v", ip, refusal, want)
		}
		return ticket
	}
	first := enter("10.0.0.1", 0)
	enter("::ffff:10.0.0.1", 0) // the same address in its mapped form
	enter("10.0.0.1", counters.RefusedPendingPerIP)
	enter("10.0.0.2", 0)
	enter("10.0.0.2", counters.RefusedPendingTotal)
	first.Leave()
	first.Leave() // the second call has no effect
	if a.Pending() != 2 {
		t.Errorf("%d pending", a.Pending())
	}
	enter("10.0.0.1", 0)
	enter("10.0.0.2", counters.RefusedPendingTotal)
	(*Ticket)(nil).Leave()
	if count.Refused.Get(counters.RefusedPendingTotal) != 2 || count.Refused.Get(counters.RefusedPendingPerIP) != 1 {
		t.Error("refusals are not counted")
	}
}

// A peer that controls a whole /64 of IPv6 counts as one source.
func TestAdmissionTakesAnIPv6NetworkAsOneSource(t *testing.T) {
	a := NewAdmission(AdmissionLimits{PendingPerIPMax: 1}, new(counters.Set), time.Now)
	if _, r := enterAs(a, addr("2001:db8::1")); r != 0 {
		t.Fatal(r)
	}
	if _, r := enterAs(a, addr("2001:db8::ffff:1")); r != counters.RefusedPendingPerIP {
		t.Errorf("same /64: %v", r)
	}
	if _, r := enterAs(a, addr("2001:db8:0:1::1")); r != 0 {
		t.Errorf("another /64: %v", r)
	}
}

func TestAdmissionBoundsTheRateAndForgets(t *testing.T) {
	now := time.Unix(1000, 0)
	a := NewAdmission(AdmissionLimits{RatePerIP: 2, BurstPerIP: 3}, new(counters.Set), func() time.Time { return now })
	passed := 0
	for range 10 {
		if ticket, r := enterAs(a, addr("10.0.0.1")); r == 0 {
			passed++
			ticket.Leave()
		}
	}
	if passed != 3 {
		t.Errorf("%d of a burst of 3", passed)
	}
	now = now.Add(time.Second)
	for range 10 {
		if ticket, r := enterAs(a, addr("10.0.0.1")); r == 0 {
			passed++
			ticket.Leave()
		}
	}
	if passed != 5 {
		t.Errorf("%d after a second at 2 per second", passed)
	}
	for i := range 1000 {
		now = now.Add(forgetAfter / 100)
		if ticket, r := enterAs(a, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})); r == 0 {
			ticket.Leave()
		}
	}
	if n := len(a.sources); n > 250 {
		t.Errorf("%d addresses are remembered", n)
	}
}

package transport

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// guest is an Entrant for tests.
type guest struct {
	ticket   *Ticket
	refused  counters.Refusal
	presence atomic.Uint32
	in, out  atomic.Bool
	at       time.Duration // when it was admitted
	door     *door
}

func (g *guest) Admit()         { g.at = time.Since(g.door.begun); g.in.Store(true) }
func (g *guest) Evict()         { g.out.Store(true) }
func (g *guest) Peek() Presence { return Presence(g.presence.Load()) }

// door is an Admission in virtual time.
type door struct {
	*testing.T
	*Admission
	begun time.Time
}

func atDoor(t *testing.T, l AdmissionLimits, test func(d *door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &door{T: t, Admission: NewAdmission(l, new(counters.Set), time.Now), begun: time.Now()}
		test(d)
		synctest.Wait()
	})
}

// pass waits for t and until everything that is due has happened.
func (d *door) pass(t time.Duration) {
	time.Sleep(t)
	synctest.Wait()
}

func (d *door) come(ip string, p Presence) *guest {
	g := &guest{door: d, ticket: d.Ticket(netip.MustParseAddr(ip))}
	g.presence.Store(uint32(p))
	g.refused = g.ticket.Wait(g)
	return g
}

func (d *door) many(n int, ip string, p Presence) (all []*guest) {
	for range n {
		all = append(all, d.come(ip, p))
	}
	return all
}

func count(all []*guest, is func(*guest) bool) (n int) {
	for _, g := range all {
		if is(g) {
			n++
		}
	}
	return n
}

func (d *door) want(what string, got, want any) {
	d.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.Errorf("%s: %v, want %v", what, got, want)
	}
}

func isIn(g *guest) bool  { return g.in.Load() }
func isOut(g *guest) bool { return g.out.Load() }

func (d *door) waits() int64 { return d.count.Held.Load() }

func (d *door) refusals(why counters.Refusal) int64 { return d.count.Refused.Get(why) }

// Connections over the rate wait for their turn, oldest first, and are not refused.
func TestOverTheRateConnectionsWait(t *testing.T) {
	atDoor(t, AdmissionLimits{RatePerIP: 50, BurstPerIP: 200, HeldMax: 1000}, func(d *door) {
		all := d.many(300, "10.0.0.1", PeerSpoke)
		d.want("at once", count(all, isIn), 200)
		d.want("held", d.waits(), 100)
		d.want("others", d.come("10.0.0.2", PeerSpoke).in.Load(), true)
		d.pass(time.Second + heldTick)
		if n := count(all, isIn); n < 249 || n > 252 {
			t.Errorf("%d after a second at 50 per second", n)
		}
		d.pass(time.Second)
		d.want("all", count(all, isIn), 300)
		d.want("in order", slices.IsSortedFunc(all, func(a, b *guest) int { return int(a.at - b.at) }), true)
		d.want("refused", d.count.Refused.Total(), 0)
	})
}

// A login gives its token back to the rate and makes room for more connections. So any number of players behind one
// address are admitted as fast as they log in.
func TestLoginsPaceACrowd(t *testing.T) {
	const rtt = 300 * time.Millisecond
	atDoor(t, AdmissionLimits{RatePerIP: 50, BurstPerIP: 200, PendingMax: 2000, PendingPerIPMax: 20, HeldMax: 4000, HeldFor: 10 * time.Second}, func(d *door) {
		all := d.many(2000, "10.0.0.1", PeerSpoke)
		for count(all, isIn) < len(all) || d.Pending() > 0 {
			d.pass(rtt)
			for _, g := range all {
				if g.in.Load() {
					g.ticket.LoggedIn()
				}
			}
			if time.Since(d.begun) > 20*time.Second {
				t.Fatalf("%d of %d are in, %d are held", count(all, isIn), len(all), d.waits())
			}
		}
		t.Logf("after %v", time.Since(d.begun))
		d.want("refused", d.count.Refused.Total(), 0)
	})
}

func TestHeldConnectionsThatAreGoneOrSilentCostNothing(t *testing.T) {
	atDoor(t, AdmissionLimits{RatePerIP: 10, BurstPerIP: 1, HeldMax: 100, HeldFor: 5 * time.Second}, func(d *door) {
		first := d.come("10.0.0.1", PeerSpoke)
		quiet := d.many(30, "10.0.0.1", PeerSilent)
		gone := d.many(30, "10.0.0.1", PeerGone)
		speaks := d.come("10.0.0.1", PeerSpoke)
		d.pass(time.Second)
		d.want("in", []bool{first.in.Load(), speaks.in.Load()}, []bool{true, true})
		d.want("gone", count(gone, isOut), 30)
		d.want("counted", d.refusals(counters.RefusedGone), 30)
		d.want("silent ones let in", count(quiet, isIn), 0)
		quiet[3].presence.Store(uint32(PeerSpoke))
		d.pass(time.Second)
		d.want("one has spoken", count(quiet, isIn), 1)
		d.pass(5 * time.Second)
		d.want("the others have waited for too long", count(quiet, isOut), 29)
		d.want("held", d.waits(), 0)
	})
}

// The number of waiting connections is limited. Over the limit, a connection that has sent nothing is
// dropped; one that has sent something is not.
func TestWhoMayWaitIsBounded(t *testing.T) {
	for name, l := range map[string]AdmissionLimits{
		"in all": {HeldMax: 4}, "per address": {HeldMax: 100, HeldPerIPMax: 4}, "nobody": {},
	} {
		l.RatePerIP, l.BurstPerIP = 1e-9, 1
		t.Run(name, func(t *testing.T) {
			atDoor(t, l, func(d *door) {
				d.come("10.0.0.1", PeerSpoke)
				if l.HeldMax == 0 {
					d.want("refused", d.come("10.0.0.1", PeerSpoke).refused, counters.RefusedRatePerIP)
					return
				}
				quiet := d.come("10.0.0.1", PeerSilent)
				d.many(3, "10.0.0.1", PeerSpoke)
				d.want("held", d.waits(), 4)
				d.want("one more", d.come("10.0.0.1", PeerSpoke).refused, counters.Refusal(0))
				d.want("who was silent", []bool{quiet.out.Load(), d.waits() == 4}, []bool{true, true})
				d.want("one too many", d.come("10.0.0.1", PeerSpoke).refused, counters.RefusedRatePerIP)
				d.pass(11 * time.Second)
				d.want("held in the end", d.waits(), 0)
			})
		})
	}
}

// If both the limit of an address and the total limit of waiting connections are reached, dropping one connection is enough.
func TestOneHeldConnectionGivesWayToOne(t *testing.T) {
	atDoor(t, AdmissionLimits{RatePerIP: 0.01, BurstPerIP: 1, HeldMax: 2, HeldPerIPMax: 1, HeldFor: time.Minute}, func(d *door) {
		d.many(1, "10.0.0.1", PeerSpoke) // uses up the rate
		d.many(1, "10.0.0.2", PeerSpoke)
		older, other := d.come("10.0.0.1", PeerSilent), d.come("10.0.0.2", PeerSilent)
		newer := d.come("10.0.0.1", PeerSpoke)
		d.want("the older one of the address is out", older.out.Load(), true)
		d.want("that of the other address is out", other.out.Load(), false)
		d.want("the newer one waits", newer.refused == 0 && !newer.out.Load(), true)
		d.want("held", d.waits(), 2)
		for _, g := range []*guest{other, newer} {
			g.ticket.Leave()
		}
	})
}

// If PendingMax is reached, silent connections of sources with many connections are evicted at once. Among sources with
// equal numbers they are evicted only after a second.
func TestTheOldestSilentConnectionGivesWay(t *testing.T) {
	atDoor(t, AdmissionLimits{PendingMax: 40, PendingPerIPMax: 20, HeldMax: 100}, func(d *door) {
		var quiet []*guest
		for i := range 2 {
			quiet = append(quiet, d.many(20, fmt.Sprintf("10.0.0.%d", i), PeerSilent)...)
		}
		honest := d.come("10.0.1.1", PeerSilent)
		d.want("in at once", []bool{honest.in.Load(), quiet[0].out.Load()}, []bool{true, true})
		other := d.many(3, "10.0.1.2", PeerSpoke)
		d.want("three more", count(other, isIn), 3)
		d.want("evicted", d.refusals(counters.RefusedEvicted), 4)
		same := d.come("10.0.0.0", PeerSpoke)
		d.want("one more of the crowded source", same.in.Load(), false)
		d.pass(silentFor + heldTick)
		d.want("a second later", []bool{same.in.Load(), honest.out.Load()}, []bool{true, false})
		d.want("pending", d.Pending(), 40)
		for _, g := range append(append(quiet, other...), honest, same) {
			g.ticket.Leave()
		}
		d.want("pending in the end", d.Pending(), 0)
	})
}

// While its LOGIN is being answered, a connection does not count as silent.
func TestALoginUnderWayDoesNotGiveWay(t *testing.T) {
	atDoor(t, AdmissionLimits{PendingMax: 10, HeldMax: 100, HeldFor: time.Minute}, func(d *door) {
		busy := d.many(10, "10.0.0.1", PeerSpoke)
		for _, g := range busy {
			g.ticket.LoginRead()
		}
		late := d.come("10.0.0.2", PeerSpoke)
		d.pass(3 * time.Second)
		d.want("held", []bool{late.in.Load(), count(busy, isOut) > 0}, []bool{false, false})
		busy[4].ticket.LoggedIn()
		d.pass(heldTick)
		d.want("in", late.in.Load(), true)
		late.ticket.LoginRead()
		later := d.come("10.0.0.3", PeerSpoke)
		d.pass(loginFor)
		d.want("an answer does not take for ever", []bool{later.in.Load(), count(busy, isOut) == 1}, []bool{true, true})
	})
}

// Where one address may have all places, the addresses of a /48 take no place from others and not all room to wait.
func TestAnIPv6NetworkLeavesPlacesToOthers(t *testing.T) {
	atDoor(t, AdmissionLimits{PendingMax: 32, HeldMax: 100, HeldPerIPMax: 60, HeldFor: time.Minute}, func(d *door) {
		first := d.many(2, "192.0.2.1", PeerSpoke)
		var all []*guest
		for i := range 130 {
			all = append(all, d.come(fmt.Sprintf("2001:db8:0:%x::1", i), PeerSpoke))
		}
		d.want("of the network, in and held", []int64{int64(count(all, isIn)), d.waits()}, []int64{30, 60})
		other := d.come("192.0.2.2", PeerSpoke)
		d.want("another address is in, and takes the place of", []any{other.in.Load(), count(first, isOut), count(all[:30], isOut)}, []any{true, 0, 1})
	})
}

// A /48 of IPv6 is limited as a whole, both in connections and in rate.
func TestAnIPv6NetworkIsBoundedAsAWhole(t *testing.T) {
	atDoor(t, AdmissionLimits{PendingPerIPMax: 2, HeldMax: 100}, func(d *door) {
		var all []*guest
		for i := range 40 {
			all = append(all, d.come(fmt.Sprintf("2001:db8:0:%x::1", i), PeerSpoke))
		}
		d.want("in of one network", count(all, isIn), 2*networkFactor)
		d.want("another network", d.come("2001:db8:1::1", PeerSpoke).in.Load(), true)
		d.pass(silentFor + 2*heldTick)
		d.want("after a second of silence", count(all, isIn), 4*networkFactor)
		d.pass(silentFor + 2*heldTick)
		d.want("after another", count(all, isIn), 40)
	})
	atDoor(t, AdmissionLimits{RatePerIP: 1, BurstPerIP: 1, HeldMax: 100}, func(d *door) {
		var all []*guest
		for i := range 40 {
			all = append(all, d.come(fmt.Sprintf("2001:db8:0:%x::1", i), PeerSpoke))
		}
		d.want("in at once", count(all, isIn), networkFactor)
		d.pass(2*time.Second + heldTick)
		if n := count(all, isIn); n < 3*networkFactor-1 || n > 3*networkFactor {
			t.Errorf("%d after two seconds", n)
		}
		d.pass(8 * time.Second)
	})
}

// An open connection is evicted by its own function, set with OnEvict.
func TestAnOpenConnectionIsEvictedInItsOwnWay(t *testing.T) {
	atDoor(t, AdmissionLimits{PendingMax: 1}, func(d *door) {
		open := d.come("10.0.0.1", PeerSpoke)
		told := false
		open.ticket.OnEvict(func() { told = true })
		d.pass(2 * silentFor)
		proxy := d.TrustedTicket()
		d.want("a proxy's", proxy.Enter(), counters.Refusal(0))
		d.want("told", []bool{told, open.out.Load()}, []bool{true, false})
		d.want("a second one", d.TrustedTicket().Enter(), counters.RefusedPendingTotal)
		proxy.Leave()
		proxy.Leave()
		open.ticket.LoggedIn()
		d.want("pending", d.Pending(), 0)
	})
}

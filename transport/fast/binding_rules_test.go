package fast

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages/counters"
)

// oracle observes a binding from outside. It states the rules as conditions on which change may
// follow which datagram. It is a plain value.
type oracle struct {
	highest   int32         // number of the newest accepted datagram of the bound address
	heard     time.Duration // when that datagram came
	move      time.Duration // time of the last move of a confirmed binding; 0 if none
	claim     time.Duration // time of the last refused plausible claim while the bound address was active; 0 if none
	displaced netip.AddrPort
	lostAt    time.Duration
	lostNum   int32
}

// observe passes one datagram to b and returns an error that names the broken rule. now must be above 0.
func (o *oracle) observe(b *binding, from netip.AddrPort, k kind, number int32, now time.Duration) error {
	before := *b
	d := b.receive(from, k, number, now)
	sameIP := before.addr.IsValid() && from.Addr() == before.addr.Addr()
	fail := func(rule string) error {
		return fmt.Errorf("%s: %v kind %d number %d at %v: %+v, %+v -> %+v", rule, from, k, number, now, d, before, *b)
	}

	// Answers and deliveries.
	if d.action == reply && (k != connect || b.addr != from || b.state == contested) {
		return fail("only a -5 of the address bound now is answered")
	}
	if d.action == deliver && (k != data || b.addr != from || b.state != confirmed && b.state != followed || number <= o.highest) {
		return fail("only new data of the bound address is delivered")
	}
	if (d.action == discard) != (d.drop != 0) {
		return fail("a drop has a reason")
	}
	if d.action == discard && d.change == unchanged && (b.state != before.state || b.addr != before.addr || b.highest != before.highest || b.heard != before.heard) {
		return fail("a drop changes nothing")
	}
	if (d.change == unchanged) != (b.state == before.state && b.addr == before.addr) {
		return fail("a change is told")
	}

	// Transitions.
	fromBound := before.state != unbound && from == before.addr
	switch {
	case before.state == contested:
		if d != refused(counters.DropFastContested) || *b != before {
			return fail("contested is for ever")
		}
		return nil
	case number < 0:
		if *b != before {
			return fail("no number below 0")
		}
		return nil
	case before.state == unbound:
		if (b.state == known) != (k == connect) {
			return fail("the first -5, and nothing else, binds")
		}
	case fromBound && number <= o.highest:
		if d != refused(counters.DropFastStale) {
			return fail("an old number is stale")
		}
	case fromBound && o.claim > 0 && now < o.claim+2*time.Second:
		if b.state != contested {
			return fail("owner active before and after a claim: contested")
		}
	case fromBound && before.state == followed:
		if b.addr != before.addr || (b.state == confirmed) != (k == clientAck) || b.state != confirmed && b.state != followed {
			return fail("where the binding followed data, a -7 alone confirms")
		}
	case fromBound:
		if b.addr != before.addr || b.state == contested || (k != connect && b.state != confirmed) || (k == connect && b.state != before.state) {
			return fail("anything but a -5 confirms")
		}
	case o.displaced == from && now < o.lostAt+2*time.Second && number > o.lostNum:
		if b.state != contested {
			return fail("a loser heard within 2 s: contested")
		}
	case before.state == known && k == connect && (sameIP || before.anyIP):
		if b.addr != from || b.state != known {
			return fail("before the ack a -5 rebinds")
		}
	default:
		plausible := number > o.highest && int64(number) <= int64(o.highest)+4096
		silent := now >= o.heard+2*time.Second
		rested := o.move == 0 || now >= o.move+5*time.Second
		if want := plausible && silent && rested && sameIP; (b.addr == from) != want {
			return fail("a binding moves exactly by rule 5")
		}
		if b.addr == from && (b.state == known) != (k == connect) {
			return fail("a move is to be confirmed")
		}
		soon := sameIP || now < o.heard+30*time.Second
		if want := before.state == confirmed && plausible && silent && b.addr != from && soon; (d.change == nowDoubted) != want || want != (before.state == confirmed && b.state == doubted) {
			return fail("a silent binding is doubted exactly by rule 6")
		}
		if k == connect && sameIP && plausible && !silent {
			o.claim = now
		}
	}

	// Bookkeeping.
	if b.addr != before.addr {
		if before.state != unbound && (!o.displaced.IsValid() || now >= o.lostAt+2*time.Second) {
			o.displaced, o.lostAt, o.lostNum = before.addr, now, o.highest
		}
		if before.state != unbound && !(before.state == known && k == connect) {
			o.move = now
		}
		o.claim = 0
	}
	if d.action != discard {
		o.highest, o.heard = number, now
		o.claim = 0
	}
	return nil
}

func TestBindingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := binding{state: unbound, anyIP: rapid.Bool().Draw(t, "anyIP")}
		var o oracle
		now, next := time.Duration(1), int32(0)
		addrs := rapid.SampledFrom([]netip.AddrPort{addrA, addrA, addrA, addrA2, addrA3, addrB})
		waits := rapid.SampledFrom([]time.Duration{0, 1, time.Second, 2*time.Second - 1, 2 * time.Second, 3 * time.Second, 5 * time.Second, 30 * time.Second})
		jumps := rapid.SampledFrom([]int32{1, 1, 1, 1, 0, -1, -5, 2, 100, 4095, 4096, 4097, 4098, 1 << 30})
		for range rapid.IntRange(1, 60).Draw(t, "datagrams") {
			now += waits.Draw(t, "wait")
			number := next + jumps.Draw(t, "jump")
			if number > next && number < next+5000 {
				next = number
			}
			k := kind(rapid.IntRange(int(connect), int(data)).Draw(t, "kind"))
			if rapid.IntRange(0, 19).Draw(t, "restart") == 0 {
				if was := b.state; b.restart() != (was == confirmed || was == doubted || was == followed) || (was == unbound || was == contested) && b.state != was {
					t.Fatalf("restart in state %v made it %v", was, b.state)
				}
			}
			if err := o.observe(&b, addrs.Draw(t, "from"), k, number, now); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package fast

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"troupe/messages/counters"
)

var (
	addrA  = netip.MustParseAddrPort("192.0.2.1:1000")
	addrA2 = netip.MustParseAddrPort("192.0.2.1:1001") // same IP, another port
	addrA3 = netip.MustParseAddrPort("192.0.2.1:1002")
	addrB  = netip.MustParseAddrPort("192.0.2.2:1000") // another IP
)

// step is one datagram and the expected decision.
type step struct {
	at     time.Duration
	from   netip.AddrPort
	kind   kind
	number int32
	want   decision
}

var (
	stale      = refused(counters.DropFastStale)
	wrong      = refused(counters.DropFastWrongAddress)
	off        = refused(counters.DropFastContested)
	bound      = decision{action: reply, change: nowBound}
	rebound    = decision{action: reply, change: nowRebound}
	moved      = decision{action: reply, change: nowMoved}
	again      = decision{action: reply}
	acked      = decision{action: consume, change: nowConfirmed}
	ackedData  = decision{action: deliver, change: nowConfirmed}
	taken      = decision{action: deliver}
	ackIgnored = decision{action: consume}
	movedData  = decision{action: deliver, change: nowMoved}
	movedAck   = decision{action: consume, change: nowMoved}
	doubt      = decision{action: discard, drop: counters.DropFastWrongAddress, change: nowDoubted}
	contest    = decision{action: discard, drop: counters.DropFastContested, change: nowContested}
)

const ms = time.Millisecond

func TestBinding(t *testing.T) {
	up := []step{{0, addrA, connect, 0, bound}, {0, addrA, clientAck, 1, acked}}
	for _, tc := range []struct {
		name  string
		anyIP bool
		steps []step
		end   state
		addr  netip.AddrPort
	}{
		{name: "handshake", steps: []step{
			{0, addrA, connect, 0, bound}, {1, addrA, clientAck, 1, acked}, {2, addrA, data, 2, taken},
		}, end: confirmed, addr: addrA},
		{name: "nothing before a -5", steps: []step{
			{0, addrA, data, 0, wrong}, {0, addrA, clientAck, 1, wrong},
		}, end: unbound},
		{name: "first number may be any", steps: []step{{0, addrA, connect, 4711, bound}}, end: known, addr: addrA},
		{name: "no number below zero", steps: []step{
			{0, addrA, connect, -1, refused(counters.DropFastMalformed)},
		}, end: unbound},
		{name: "data is the ack", steps: []step{
			{0, addrA, connect, 0, bound}, {0, addrA, data, 1, ackedData},
		}, end: confirmed, addr: addrA},
		{name: "-5 is no ack", steps: []step{
			{0, addrA, connect, 0, bound}, {0, addrA, connect, 1, again}, {0, addrA, connect, 2, again},
		}, end: known, addr: addrA},
		{name: "stale", steps: append(up[:2:2],
			step{0, addrA, data, 5, taken}, step{0, addrA, data, 5, stale}, step{0, addrA, data, 4, stale},
			step{0, addrA, connect, 0, stale}, step{0, addrA, clientAck, 1, stale}, step{0, addrA, data, 6, taken}),
			end: confirmed, addr: addrA},
		{name: "duplicate -5 is not answered", steps: []step{
			{0, addrA, connect, 3, bound}, {0, addrA, connect, 3, stale}, {0, addrA, connect, 2, stale}, {0, addrA, connect, 4, again},
		}, end: known, addr: addrA},
		{name: "replayed data is no ack", steps: []step{
			{0, addrA, connect, 3, bound}, {0, addrA, data, 3, stale},
		}, end: known, addr: addrA},
		{name: "-5 and -7 when confirmed", steps: append(up[:2:2],
			step{0, addrA, connect, 2, again}, step{0, addrA, clientAck, 3, ackIgnored}, step{0, addrA, data, 4, taken}),
			end: confirmed, addr: addrA},
		{name: "known rebinds to another port", steps: []step{
			{0, addrA, connect, 50, bound}, {0, addrA2, connect, 0, rebound}, {0, addrA2, clientAck, 1, acked},
		}, end: confirmed, addr: addrA2},
		{name: "known does not follow data", steps: []step{
			{0, addrA, connect, 0, bound}, {0, addrA2, data, 1, wrong}, {0, addrA2, clientAck, 2, wrong},
		}, end: known, addr: addrA},
		{name: "known does not leave its IP", steps: []step{
			{0, addrA, connect, 0, bound}, {0, addrB, connect, 1, wrong},
		}, end: known, addr: addrA},
		{name: "any IP may take over before the ack", anyIP: true, steps: []step{
			{0, addrB, connect, 0, bound}, {0, addrA, connect, 0, rebound}, {0, addrA, clientAck, 1, acked},
		}, end: confirmed, addr: addrA},
		{name: "no other IP after the ack", anyIP: true, steps: append(up[:2:2],
			step{time.Second, addrB, connect, 2, wrong}, step{time.Second, addrB, data, 3, wrong},
			step{3 * time.Second, addrB, connect, 2, doubt}, step{3 * time.Second, addrB, data, 3, wrong},
			step{3 * time.Second, addrA, data, 2, ackedData}), end: confirmed, addr: addrA},
		{name: "confirmed moves after silence", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{2 * time.Second, addrA2, data, 3, ackedData}),
			end: confirmed, addr: addrA2},
		{name: "a move has to be confirmed", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{2 * time.Second, addrA2, connect, 3, again}),
			end: known, addr: addrA2},
		{name: "not before silence", steps: append(up[:2:2],
			step{2*time.Second - 1, addrA2, connect, 2, wrong}), end: confirmed, addr: addrA},
		{name: "a refused claim can succeed later", steps: append(up[:2:2],
			step{1 * time.Second, addrA2, connect, 2, wrong}, step{2 * time.Second, addrA2, connect, 3, moved}),
			end: known, addr: addrA2},
		{name: "a replay is no sign of life", steps: append(up[:2:2],
			step{1900 * ms, addrA, data, 1, stale}, step{2 * time.Second, addrA2, connect, 2, moved}),
			end: known, addr: addrA2},
		{name: "number must be above", steps: append(up[:2:2],
			step{3 * time.Second, addrA2, connect, 1, wrong}, step{3 * time.Second, addrA2, connect, 0, wrong}),
			end: confirmed, addr: addrA},
		{name: "number must be near", steps: append(up[:2:2],
			step{3 * time.Second, addrA2, connect, 1 + 4097, wrong}, step{3 * time.Second, addrA2, connect, 1 + 4096, moved}),
			end: known, addr: addrA2},
		{name: "one move in five seconds", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{2 * time.Second, addrA2, clientAck, 3, acked},
			step{7*time.Second - 1, addrA3, connect, 4, doubt}, step{7 * time.Second, addrA3, connect, 5, moved}),
			end: known, addr: addrA3},
		{name: "doubted until it is heard", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{2 * time.Second, addrA2, clientAck, 3, acked},
			step{5 * time.Second, addrA3, data, 4, doubt}, step{5 * time.Second, addrA3, data, 5, wrong},
			step{6 * time.Second, addrA2, connect, 4, again}, step{6 * time.Second, addrA2, data, 5, ackedData}),
			end: confirmed, addr: addrA2},
		{name: "doubted, then moved", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{2 * time.Second, addrA2, clientAck, 3, acked},
			step{5 * time.Second, addrA3, data, 4, doubt}, step{7 * time.Second, addrA3, data, 9, movedData}),
			end: followed, addr: addrA3},
		{name: "no doubt from another IP about one that only listens", steps: append(up[:2:2],
			step{30 * time.Second, addrB, data, 2, wrong}), end: confirmed, addr: addrA},
		{name: "no doubt from another IP by a far number", steps: append(up[:2:2],
			step{3 * time.Second, addrB, data, 1 + 4097, wrong}, step{3 * time.Second, addrB, data, 1, wrong}), end: confirmed, addr: addrA},
		{name: "data claims nothing while the address speaks", steps: append(up[:2:2],
			step{0, addrA2, data, 2, wrong}, step{0, addrA, data, 2, taken}, step{2*time.Second - 1, addrA2, data, 3, wrong}, step{2*time.Second - 1, addrA, data, 3, taken}),
			end: confirmed, addr: addrA},
		{name: "follows data after silence", steps: append(up[:2:2],
			step{2*time.Second - 1, addrA2, data, 2, wrong}, step{2 * time.Second, addrA2, data, 3, movedData}, step{2 * time.Second, addrA2, data, 4, taken},
			step{2 * time.Second, addrA2, data, 4, stale}), end: followed, addr: addrA2},
		{name: "what followed is confirmed by -7 alone", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, data, 2, movedData}, step{3 * time.Second, addrA2, connect, 3, again},
			step{3 * time.Second, addrA2, data, 4, taken}, step{3 * time.Second, addrA2, clientAck, 5, acked}), end: confirmed, addr: addrA2},
		{name: "a -7 of nobody's asking confirms nothing", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, clientAck, 2, movedAck}), end: followed, addr: addrA2},
		{name: "follows data at most every five seconds", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, data, 2, movedData}, step{5 * time.Second, addrA3, data, 3, wrong},
			step{7 * time.Second, addrA3, data, 4, movedData}), end: followed, addr: addrA3},
		{name: "follows data that no ack came before", steps: []step{
			{0, addrA, connect, 0, bound}, {2 * time.Second, addrA2, data, 2, movedData}}, end: followed, addr: addrA2},
		{name: "contested: claim between two signs of life", steps: append(up[:2:2],
			step{1 * time.Second, addrA2, connect, 2, wrong}, step{3*time.Second - 1, addrA, data, 2, contest},
			step{9 * time.Second, addrA, data, 3, off}, step{9 * time.Second, addrA2, connect, 3, off}, step{9 * time.Second, addrB, connect, 0, off}),
			end: contested, addr: addrA},
		{name: "no contest when heard late", steps: append(up[:2:2],
			step{1 * time.Second, addrA2, connect, 2, wrong}, step{3 * time.Second, addrA, data, 2, taken}),
			end: confirmed, addr: addrA},
		{name: "no contest by an implausible claim", steps: append(up[:2:2],
			step{1, addrA2, connect, 0, wrong}, step{1, addrA2, connect, 9999, wrong}, step{1, addrB, connect, 2, wrong}, step{2, addrA, data, 2, taken}),
			end: confirmed, addr: addrA},
		{name: "no contest by a replay", steps: append(up[:2:2],
			step{1, addrA2, connect, 2, wrong}, step{2, addrA, data, 1, stale}),
			end: confirmed, addr: addrA},
		{name: "contested: the loser goes on", steps: []step{
			{0, addrA, connect, 0, bound}, {1, addrA2, connect, 0, rebound}, {2, addrA, clientAck, 1, contest},
		}, end: contested, addr: addrA2},
		{name: "contested: two ports do not hide the loser", steps: []step{
			{0, addrA, connect, 0, bound}, {1, addrA2, connect, 0, rebound}, {1, addrA3, connect, 0, rebound}, {2, addrA, clientAck, 1, contest},
		}, end: contested, addr: addrA3},
		{name: "contested: moved while the owner paused", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{3 * time.Second, addrA, data, 2, contest}),
			end: contested, addr: addrA2},
		{name: "late duplicate of the loser", steps: []step{
			{0, addrA, connect, 5, bound}, {1, addrA2, connect, 6, rebound}, {2, addrA, connect, 5, rebound},
		}, end: known, addr: addrA},
		{name: "loser heard too late", steps: append(up[:2:2],
			step{2 * time.Second, addrA2, connect, 2, moved}, step{4 * time.Second, addrA, data, 2, wrong}),
			end: known, addr: addrA2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := binding{state: unbound, anyIP: tc.anyIP}
			for i, s := range tc.steps {
				if got := b.receive(s.from, s.kind, s.number, s.at); got != s.want {
					t.Fatalf("step %d %v: got %+v, want %+v", i, s, got, s.want)
				}
			}
			if b.state != tc.end || b.addr != tc.addr {
				t.Fatalf("ends %v at %v, want %v at %v", b.state, b.addr, tc.end, tc.addr)
			}
		})
	}
}

// TestBindingExhaustive runs every sequence of five datagrams from a small set, and checks the rules.
func TestBindingExhaustive(t *testing.T) {
	type event struct {
		from   netip.AddrPort
		kind   kind
		number int32
		wait   time.Duration
	}
	var alphabet []event
	for _, from := range []netip.AddrPort{addrA, addrA2, addrB} {
		for _, k := range []kind{connect, data} {
			for _, d := range []event{{number: 0}, {number: 1}, {number: 1, wait: 2 * time.Second}} {
				alphabet = append(alphabet, event{from, k, d.number, d.wait})
			}
		}
	}
	depth := 5
	if testing.Short() || raceEnabled {
		depth = 4
	}
	var run func(depth int, b binding, o oracle, now time.Duration, number int32)
	run = func(depth int, b binding, o oracle, now time.Duration, number int32) {
		if depth == 0 {
			return
		}
		for _, e := range alphabet {
			b, o, at, n := b, o, now+e.wait+1, number+e.number
			if err := o.observe(&b, e.from, e.kind, n, at); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
			run(depth-1, b, o, at, n)
		}
	}
	run(depth, binding{state: unbound}, oracle{}, 0, 0)
	if len(alphabet) != 18 {
		t.Fatal(fmt.Sprint("alphabet of ", len(alphabet)))
	}
}

package fast

import (
	"net/netip"
	"time"

	"troupe/messages/counters"
)

// Limits of the address rules (reliability.md 6).
const (
	// silence is how long the bound address must be silent before a confirmed binding may move. Otherwise both
	// addresses count as active at the same time.
	silence = 2 * time.Second
	// moveEvery is the shortest time between two moves of a confirmed binding.
	moveEvery = 5 * time.Second
	// jumpMax is how far the number of a claim from another address may be above the highest number. The client numbers
	// everything it sends, so its real next number is close; a guessed number is not.
	jumpMax = 4096
	// recent limits rule 6: another IP address can cause doubt only if the bound address was heard within this time.
	// Otherwise anybody could switch off the fast channel of peers that only receive.
	recent = 30 * time.Second
)

// state is what is known about a peer's UDP address (realtime.md 7.3).
type state uint8

const (
	unbound   state = iota + 1 // no -5 has arrived
	known                      // -5 received and -6 sent; game data uses WebSocket
	confirmed                  // the client has proved that it received the -6
	doubted                    // was confirmed, but is silent while its peer seems to send from elsewhere; game data uses WebSocket
	followed                   // moved with the client's data to an address that is not proved; game data uses WebSocket
	contested                  // two addresses are active; off until the next login
)

// kind is the kind of a datagram.
type kind uint8

const (
	connect   kind = iota + 1 // -5
	clientAck                 // -7
	data                      // everything else
)

// action says what to do with a datagram.
type action uint8

const (
	discard action = iota + 1 // drop it and count decision.drop
	reply                     // answer with one new -6
	consume                   // no action: a handshake packet that needs no answer
	deliver                   // pass it to the handler
)

// change is the effect of a datagram on the binding.
type change uint8

const (
	unchanged    change = iota
	nowBound            // from unbound to known
	nowRebound          // still known, but at another address
	nowMoved            // to known or followed, at another address than before
	nowConfirmed        // to confirmed
	nowDoubted          // from confirmed to doubted
	nowContested
)

// decision is the binding's answer to one datagram.
type decision struct {
	action action
	drop   counters.Drop // the reason; discard only
	change change
}

func refused(why counters.Drop) decision { return decision{action: discard, drop: why} }

// binding is the address of one peer's fast channel and the rules by which it
// changes. It is pure: no sockets, no clock, no locks. The caller has checked
// that the datagram is well formed and names the peer. With the same-IP rule,
// the caller has also checked that its IP is that of the peer's WebSocket. Times
// count from any fixed moment.
//
// A datagram is "heard" if its number passed the check, so replays do not count.
// The first rule that applies decides:
//
//  1. Contested: everything is dropped.
//  2. Unbound: a -5 binds its address. Anything else comes from a wrong address.
//  3. From the bound address: a number not above the highest is stale, also that
//     of a -5. (A client numbers every repetition anew. An old number is a
//     duplicate, and an answer would answer one request twice.) A newer -5 is
//     answered and changes nothing else. Any other newer packet confirms the
//     address. In state followed only a -7 does: a client that has not noticed
//     the move sends data all the time, which proves nothing.
//  4. A -5 from another address, with the same IP, in state known: binds there.
//  5. Any other datagram from another address moves the binding there if it is
//     plausible: it has the same IP and a number 1 to 4096 above the highest, the
//     bound address has been silent for 2 s, and the last move was 5 s ago or
//     more. A NAT that changes a port causes this, and a stock client never
//     repeats the handshake. After a -5 the state is known, otherwise followed.
//  6. If rule 5 refuses a datagram only because of the 5 s or because of its IP,
//     the bound address may be dead: confirmed becomes doubted. For another IP
//     the bound address must also have been heard within the last 30 s.
//
// The binding becomes contested when two addresses are active at once. That is
// the case in two situations. First, a plausible -5 was refused because the bound
// address was not silent, and the bound address is heard within 2 s after that.
// Second, an address that lost the binding is heard, with a number it had not
// used, within 2 s after losing it.
type binding struct {
	// anyIP is set if the same-IP rule is off. Then the first -5 and rule 4 accept any IP. The other rules do not change.
	// So a guess from elsewhere cannot lock out the true client before it is confirmed, and cannot affect it afterwards.
	anyIP bool

	state   state
	addr    netip.AddrPort
	highest int32         // number of the newest datagram from addr
	heard   time.Duration // when that datagram arrived

	moved    time.Duration // when a confirmed binding last moved
	everMove bool

	claimed      bool          // a plausible -5 from another address was refused
	claimedUntil time.Duration // until then a datagram from addr makes the binding contested

	lost        netip.AddrPort // the address that lost the binding; invalid if there is none
	lostHighest int32
	lostUntil   time.Duration // until then a datagram from lost makes the binding contested
}

// receive decides about one datagram and applies the decision to b.
func (b *binding) receive(from netip.AddrPort, k kind, number int32, now time.Duration) decision {
	switch {
	case b.state == contested:
		return refused(counters.DropFastContested)
	case number < 0: // clients do not use negative numbers
		return refused(counters.DropFastMalformed)
	case b.state == unbound:
		if k != connect {
			return refused(counters.DropFastWrongAddress)
		}
		b.bind(from, number, now)
		return decision{action: reply, change: nowBound}
	case from == b.addr:
		return b.fromBound(k, number, now)
	case from == b.lost && now < b.lostUntil && number > b.lostHighest:
		return b.contest()
	case k == connect && b.state == known:
		return b.rebind(from, number, now)
	default:
		return b.claim(from, k, number, now)
	}
}

// fromBound implements rule 3.
func (b *binding) fromBound(k kind, number int32, now time.Duration) decision {
	if number <= b.highest {
		return refused(counters.DropFastStale)
	}
	if b.claimed && now < b.claimedUntil {
		return b.contest()
	}
	b.claimed, b.highest, b.heard = false, number, now
	if k == connect {
		return decision{action: reply}
	}
	d := decision{action: deliver}
	if k == clientAck {
		d.action = consume
	}
	if b.state == known || b.state == doubted || b.state == followed && k == clientAck { // D-106
		b.state, d.change = confirmed, nowConfirmed
	}
	return d
}

// rebind implements rule 4.
func (b *binding) rebind(from netip.AddrPort, number int32, now time.Duration) decision {
	if !b.anyIP && from.Addr() != b.addr.Addr() { // D-107
		return refused(counters.DropFastWrongAddress)
	}
	b.lose(now)
	b.bind(from, number, now)
	return decision{action: reply, change: nowRebound}
}

// claim implements rule 5.
func (b *binding) claim(from netip.AddrPort, k kind, number int32, now time.Duration) decision {
	switch {
	case from.Addr() != b.addr.Addr():
		return b.elsewhere(number, now)
	case !b.near(number):
		return refused(counters.DropFastWrongAddress)
	case now-b.heard < silence:
		if k == connect {
			b.claimed, b.claimedUntil = true, now+silence
		}
		return refused(counters.DropFastWrongAddress)
	case b.everMove && now-b.moved < moveEvery:
		return b.doubt()
	}
	b.lose(now)
	b.bind(from, number, now)
	b.everMove, b.moved = true, now
	switch k {
	case connect:
		return decision{action: reply, change: nowMoved}
	case clientAck:
		b.state = followed
		return decision{action: consume, change: nowMoved}
	}
	b.state = followed
	return decision{action: deliver, change: nowMoved}
}

// near reports whether a number may be the client's next one.
func (b *binding) near(number int32) bool { return number > b.highest && number-b.highest <= jumpMax }

// elsewhere handles a datagram from another IP address, to which the binding never moves.
func (b *binding) elsewhere(number int32, now time.Duration) decision {
	if quiet := now - b.heard; b.near(number) && quiet >= silence && quiet < recent {
		return b.doubt()
	}
	return refused(counters.DropFastWrongAddress)
}

// doubt implements rule 6.
func (b *binding) doubt() decision {
	d := refused(counters.DropFastWrongAddress)
	if b.state == confirmed {
		b.state, d.change = doubted, nowDoubted
	}
	return d
}

// restart handles a client's report, over its WebSocket, that it receives nothing here. The address must be confirmed
// again, and by rule 4 another one may replace it. restart reports whether the state changed.
func (b *binding) restart() bool {
	switch b.state {
	case confirmed, doubted, followed:
		b.state = known
		return true
	}
	return false
}

// bind sets from as the address, which is not confirmed yet. The highest number becomes number.
func (b *binding) bind(from netip.AddrPort, number int32, now time.Duration) {
	b.state, b.addr, b.highest, b.heard, b.claimed = known, from, number, now, false
}

// lose records for a time that the bound address loses the binding. An address that lost it a short time before stays
// recorded instead. Otherwise two quick claims from two ports could hide the first owner.
func (b *binding) lose(now time.Duration) {
	if b.lost.IsValid() && now < b.lostUntil {
		return
	}
	b.lost, b.lostHighest, b.lostUntil = b.addr, b.highest, now+silence
}

func (b *binding) contest() decision {
	b.state = contested
	return decision{action: discard, drop: counters.DropFastContested, change: nowContested}
}

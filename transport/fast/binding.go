package fast

import (
	"net/netip"
	"time"

	"troupe/messages/counters"
)

// Limits of the address rules (reliability.md 6).
const (
	// silence is that of the bound address after which a confirmed binding may move. Within it, two addresses count as active at once.
	silence = 2 * time.Second
	// moveEvery is the least time between two moves of a confirmed binding.
	moveEvery = 5 * time.Second
	// jumpMax is how far above the highest number a claim from another address may be. The client counts all it sends, so its own
	// next number is near; a guess is not.
	jumpMax = 4096
	// recent is how recently the bound address must have been heard for another IP address to cast doubt on it. Otherwise anybody
	// could switch off the fast channel of peers that only receive.
	recent = 30 * time.Second
)

// state is what is known of a peer's UDP address (realtime.md 7.3).
type state uint8

const (
	unbound   state = iota + 1 // no -5 yet
	known                      // -5 received, -6 sent; game data by WebSocket
	confirmed                  // the client proved that it got -6
	doubted                    // was confirmed; now silent while its peer seems to speak from elsewhere: game data by WebSocket
	followed                   // went with the client's data to an address that has proved nothing: game data by WebSocket
	contested                  // two active addresses: off until the next login
)

// kind is the kind of a datagram.
type kind uint8

const (
	connect   kind = iota + 1 // -5
	clientAck                 // -7
	data                      // everything else
)

// action is what to do with a datagram.
type action uint8

const (
	discard action = iota + 1 // count decision.drop
	reply                     // answer with one fresh -6
	consume                   // a handshake packet that needs no answer
	deliver                   // pass it on
)

// change is the effect of a datagram on the binding.
type change uint8

const (
	unchanged    change = iota
	nowBound            // unbound to known
	nowRebound          // known, at another address
	nowMoved            // to known or followed, at another address than the confirmed one
	nowConfirmed        // to confirmed
	nowDoubted          // confirmed to doubted
	nowContested
)

// decision is the binding's answer to one datagram.
type decision struct {
	action action
	drop   counters.Drop // with discard: why
	change change
}

func refused(why counters.Drop) decision { return decision{action: discard, drop: why} }

// binding is the address of one peer's fast channel and the rules by which it
// changes. It is pure: no sockets, no clock, no locks. The caller has checked
// that the datagram is well formed and names the peer, and, with the same-IP
// rule, that its IP is that of the peer's WebSocket. Times count from any fixed
// moment.
//
// The rules, in the order they are asked:
//
//  1. contested: everything is dropped.
//  2. unbound: a -5 binds, anything else is from a wrong address.
//  3. From the bound address: a number not above the highest is stale, -5
//     included (a client numbers every repeat anew, so an old number is a
//     duplicate, and answering it would answer one request twice). A newer -5 is
//     answered and changes nothing else; anything newer confirms, but in
//     state followed only a -7 does: a client that has not noticed the move sends
//     data all the time, which proves nothing.
//  4. A -5 from another address, state known, same IP: binds there.
//  5. Any other datagram from another address moves the binding there if it is
//     plausible: same IP, a number 1 to 4096 above the highest, after 2 s of
//     silence of the bound address, 5 s after the last move. A NAT that changes a
//     port does this, and a stock client never does another handshake. After a -5
//     the state is known, else followed.
//  6. What rule 5 refuses only for the 5 s or for the IP shows that the bound
//     address may be dead: confirmed becomes doubted. From another IP this takes
//     an address that was heard within the last 30 s.
//
// Two addresses are active at once, and the binding is contested, when the bound
// address is heard within 2 s after a plausible -5 that was refused because
// it was not silent, and when an address that lost the binding is heard (with a
// number it had not used) within 2 s after losing it. "Heard" means a datagram
// that passed the number check: replays keep nothing alive.
type binding struct {
	// anyIP is set where the same-IP rule is off. It frees the first -5 and rule 4 only: a guess from elsewhere must not lock the
	// true client out before it is confirmed, nor touch it afterwards.
	anyIP bool

	state   state
	addr    netip.AddrPort
	highest int32         // number of the newest datagram from addr
	heard   time.Duration // when it came

	moved    time.Duration // when a confirmed binding moved last
	everMove bool

	claimed      bool          // a plausible claim was refused
	claimedUntil time.Duration // until when hearing addr makes it a contest

	lost        netip.AddrPort // the address that lost the binding, if any
	lostHighest int32
	lostUntil   time.Duration // until when hearing it makes it a contest
}

// receive decides on one datagram and carries the decision out on b.
func (b *binding) receive(from netip.AddrPort, k kind, number int32, now time.Duration) decision {
	switch {
	case b.state == contested:
		return refused(counters.DropFastContested)
	case number < 0: // no client counts below 0
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

// fromBound is rule 3.
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

// rebind is rule 4.
func (b *binding) rebind(from netip.AddrPort, number int32, now time.Duration) decision {
	if !b.anyIP && from.Addr() != b.addr.Addr() { // D-107
		return refused(counters.DropFastWrongAddress)
	}
	b.lose(now)
	b.bind(from, number, now)
	return decision{action: reply, change: nowRebound}
}

// claim is rule 5.
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

// elsewhere handles the number of a datagram from another IP address, to which the binding never moves.
func (b *binding) elsewhere(number int32, now time.Duration) decision {
	if quiet := now - b.heard; b.near(number) && quiet >= silence && quiet < recent {
		return b.doubt()
	}
	return refused(counters.DropFastWrongAddress)
}

// doubt is rule 6.
func (b *binding) doubt() decision {
	d := refused(counters.DropFastWrongAddress)
	if b.state == confirmed {
		b.state, d.change = doubted, nowDoubted
	}
	return d
}

// restart handles the report of a client, over its WebSocket, that it receives nothing here: the address has to confirm again,
// and another may replace it by rule 4. It reports whether that changed anything.
func (b *binding) restart() bool {
	switch b.state {
	case confirmed, doubted, followed:
		b.state = known
		return true
	}
	return false
}

// bind sets from as the address, which has to be confirmed, and restarts its numbers.
func (b *binding) bind(from netip.AddrPort, number int32, now time.Duration) {
	b.state, b.addr, b.highest, b.heard, b.claimed = known, from, number, now, false
}

// lose remembers for a time that the bound address loses the binding, beside one that lost it earlier: two quick claims from
// two ports must not make the first owner forgotten.
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

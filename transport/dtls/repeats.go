package dtls

// repeats decides which repetitions of flights are sent. The library repeats a flight at a fixed interval until the
// peer's next flight has come. Of these repetitions the first two pass, then two more with twice the interval between
// them, and then every fourth (RFC 6347, 4.2.4.1, doubles each time). Early repetitions cost a peer little that
// lost a datagram or two, and later ones that are rare spare a host that many peers come back to at once. The zero
// value is ready.
type repeats struct {
	newest int  // largest position of a datagram
	last   int  // that of the latest datagram with a position
	wanted int  // repetitions of the current flight that the library has wanted
	next   int  // the next of them that passes
	passed int  // how many of them have passed
	held   bool // the datagrams of the current repetition do not pass
}

// doublingsMax is how often the time between two repetitions doubles.
const doublingsMax = 2

// pass reports whether a datagram of the library is to be sent.
func (r *repeats) pass(datagram []byte) bool {
	at, plain := position(datagram)
	switch {
	case !plain || at == positionOfAnswer: // an alert, or the last flight of a resumption
		return true
	case at > r.newest: // a new flight, or more of it
		r.newest, r.last, r.wanted, r.next, r.passed, r.held = at, at, 0, 1, 0, false
		return true
	case at > r.last: // more of a repetition
		r.last = at
		return !r.held
	}
	r.last = at
	r.wanted++
	if r.held = r.wanted < r.next; !r.held {
		r.passed++
		r.next += 1 << min(r.passed/2, doublingsMax)
	}
	return !r.held
}

// positionOfAnswer is that of a HelloVerifyRequest, which answers each ClientHello without a cookie, and is never
// repeated by itself.
const positionOfAnswer = 0

// position says where in its side's messages the first message of a datagram stands: later ones have larger
// positions. It is false if the datagram has no message in plain text.
func position(datagram []byte) (at int, plain bool) {
	for len(datagram) > 0 {
		r, rest, drop := nextRecord(datagram)
		if drop != 0 {
			break
		}
		if m, _, ok := nextMessage(r.fragment); ok && r.epoch == 0 && r.typ == handshake {
			if m.typ == msgHelloVerify {
				return positionOfAnswer, true
			}
			return 1 + int(m.sequence)<<24 + m.offset, true
		}
		datagram = rest
	}
	return 0, false
}

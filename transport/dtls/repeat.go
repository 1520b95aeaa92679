package dtls

import "time"

const (
	repeatsQuick = 6                      // repetitions of a flight before the first that waits longer: what is lost is seldom lost again
	repeatMax    = 600 * time.Millisecond // the longest time between two sendings of one flight
)

// repeats thins out the flights that the library sends again at even distances: after the first few, a flight waits twice as long each time (RFC 6347,
// 4.2.4.1). A crowd that comes back to a host that has no time for it would keep it busy with repetitions.
type repeats struct {
	top, first uint16 // numbers of the newest message and of the first one of the flight
	begun      bool   // a message was sent
	plain      bool   // nothing encrypted belongs to the flight
	skipping   bool   // the current repetition is left out
	at         time.Time
	sent       int           // repetitions
	wait       time.Duration // from at to the next repetition
}

// skips notes a datagram that the library sends, and reports whether it is left out.
func (s *repeats) skips(datagram []byte, now time.Time) bool {
	for rest := datagram; len(rest) > 0; {
		r, tail, drop := nextRecord(rest)
		if drop != 0 {
			break
		}
		rest = tail
		if r.typ == alert {
			return false
		}
		if r.typ == changeCipherSpec && s.plain { // it begins the next flight
			s.skipping = false
		}
		if r.epoch != 0 || r.typ != handshake {
			continue
		}
		if m, _, ok := nextMessage(r.fragment); ok {
			s.note(&m, now)
		}
	}
	return s.skipping
}

func (s *repeats) note(m *message, now time.Time) {
	switch isNew := !s.begun || m.sequence > s.top; {
	case isNew && (m.typ == msgClientHello || m.typ == msgHelloVerify || m.typ == msgServerHello || m.typ == msgClientKeyExchange):
		*s = repeats{top: m.sequence, first: m.sequence, begun: true, plain: m.typ == msgClientHello, at: now}
	case isNew:
		s.top, s.plain = m.sequence, s.plain || m.typ == msgServerHelloDone
	case m.sequence == s.first && m.offset == 0:
		if s.skipping = now.Sub(s.at) < s.wait; s.skipping {
			return
		}
		if s.at, s.sent = now, s.sent+1; s.sent >= repeatsQuick {
			s.wait = min(max(2*s.wait, 2*flightIntervalMin), repeatMax)
		}
	}
}

// heard notes that something has come from the peer: it is there, and a flight of which a part was lost is repeated soon.
func (s *repeats) heard() { s.sent, s.wait = 0, 0 }

package dtls

import "time"

const (
	repeatsQuick = 6                      // resends before the interval grows: a lost datagram is seldom lost again
	repeatMax    = 600 * time.Millisecond // the longest interval between two sends of one flight
)

// repeats drops some of the flights that the library resends at regular intervals. After the first few resends, the
// interval between two sends of one flight doubles each time (RFC 6347, 4.2.4.1). Otherwise many clients that reconnect
// to an overloaded host would keep it busy with resends.
type repeats struct {
	top, first uint16 // numbers of the newest message, and of the first message of the flight
	begun      bool   // a message was sent
	plain      bool   // the flight has no encrypted part
	skipping   bool   // the current resend is dropped
	at         time.Time
	sent       int           // number of resends
	wait       time.Duration // time from at to the next allowed resend
}

// skips records a datagram that the library sends, and reports whether to drop it.
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

// heard records that something has come from the peer. The peer exists, so a flight that was partly lost is soon sent again.
func (s *repeats) heard() { s.sent, s.wait = 0, 0 }

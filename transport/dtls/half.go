package dtls

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/internal/list"
)

// half is a handshake on the server side. The same address may also have an association.
type half struct {
	e      *Endpoint
	from   netip.AddrPort
	source netip.Prefix
	began  time.Time
	pipe   *pipe
	cancel context.CancelFunc
	ctx    context.Context

	// owned by the socket's reader
	filter   filter
	gathered []byte // admitted records of the current datagram

	unproven list.Link[*half] // guarded by e.mu: link in the list of handshakes whose address is not proven

	made *Association // the association, once the handshake has made it; owned by run's goroutine

	mu      sync.Mutex
	early   [][]byte     // application records and alerts that arrived during the handshake
	became  *Association // the association, once it is established
	evicted bool
}

func newHalf(e *Endpoint, from netip.AddrPort, source netip.Prefix, hello clientHello) *half {
	h := &half{e: e, from: from, source: source, began: time.Now(), filter: filter{suite: hello.suite, random: hello.random}}
	h.pipe = newPipe(e.conn.LocalAddr(), net.UDPAddrFromAddrPort(from), func(b []byte) { e.sendTo(from, b) })
	h.pipe.address = proofMissing
	h.ctx, h.cancel = context.WithTimeout(e.ctx, e.o.Timeout)
	return h
}

// evict ends the handshake in favour of a newer one.
func (h *half) evict() {
	h.mu.Lock()
	h.evicted = true
	h.mu.Unlock()
	h.cancel()
}

// take handles one record of the peer during the handshake. The reader calls it.
func (h *half) take(r *record) {
	h.pipe.heard(len(r.raw))
	if r.epoch == 1 && (r.typ == applicationData || r.typ == alert) {
		taken := h.takeEarly(r)
		if taken || r.typ == applicationData {
			return
		}
	}
	if drop := h.filter.admit(r); drop != 0 {
		h.e.drop(drop)
		if drop == counters.RecordHandshakeCap {
			h.cancel()
		}
		return
	}
	h.gathered = append(h.gathered, r.raw...)
}

// flush passes the records of one datagram to the library. They must be one datagram, because the library looks for complete flights.
func (h *half) flush() {
	if len(h.gathered) == 0 {
		return
	}
	if !h.pipe.feed(h.gathered) {
		h.e.drop(counters.RecordHandshakeCap)
	}
	h.gathered = h.gathered[:0]
}

// takeEarly keeps a record until the handshake is complete. If the association is already established, it gets the
// record at once, and takeEarly returns true. For a kept alert the caller also passes the record to the library. So the
// alert either fails the handshake, or ends the association after the handshake.
func (h *half) takeEarly(r *record) (taken bool) {
	h.mu.Lock()
	a := h.became
	most := earlyUnprovenMax
	if h.pipe.isProven() {
		most = earlyMax
	}
	if a == nil && len(h.early) < most {
		h.early = append(h.early, append([]byte(nil), r.raw...))
		h.mu.Unlock()
		return false
	}
	h.mu.Unlock()
	if a == nil {
		h.e.drop(counters.RecordEarly)
		return false
	}
	a.take(r)
	return true
}

// run is the goroutine of the handshake.
func (h *half) run() {
	defer h.cancel()
	a, err := h.shake()
	if err == nil {
		return
	}
	h.e.mu.Lock()
	h.e.leave(h)
	h.e.mu.Unlock()
	if a != nil {
		a.Close()
	}
	outcome := h.outcome()
	h.e.o.Counters.Handshakes.Add(outcome, 1)
	h.e.o.Log.Debug().Err(err).Stringer("remote", h.from).Stringer("outcome", outcome).
		Dur("after_ms", time.Since(h.began)).Msg("DTLS handshake ended without an association")
}

// shake performs the handshake and makes its association. A panic ends the association.
func (h *half) shake() (a *Association, err error) {
	defer transport.Rescue(h.e.o.Counters, &h.e.o.Log, "DTLS handshake", func(any) {
		if a, err = h.made, ErrPanicked; a != nil {
			a.end(ErrPanicked, true)
		}
	})
	s, err := serverHandshake(h.ctx, h.pipe, h.e.o.Certificate(), h.filter.suite, h.e.sessions)
	if err != nil {
		return nil, err
	}
	return h.complete(s)
}

func (h *half) outcome() counters.HandshakeOutcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.evicted:
		return counters.HandshakeEvicted
	case errors.Is(h.ctx.Err(), context.DeadlineExceeded):
		return counters.HandshakeTimedOut
	}
	return counters.HandshakeFailed
}

// complete makes the association and passes the early records to it.
func (h *half) complete(s *secrets) (*Association, error) {
	k, err := newKeys(s)
	if err != nil {
		return nil, err
	}
	e := h.e
	last, number := h.pipe.mute()
	a := newAssociation(k, number, e.o.Counters, &e.running)
	a.log, h.made = e.o.Log, a
	a.setRemote(h.from)
	a.forget, a.arrivals = e.forget, e.arrivals
	a.send = func(b []byte) bool { return e.sendTo(a.RemoteAddr(), b) }
	if !s.resumed { // in a resumption the client sends the last flight
		a.flight = last
	}
	h.accept(a)
	if a.handler == nil {
		return a, errors.New("dtls: not accepted")
	}
	if !e.establish(h, a) {
		return a, errors.New("dtls: handshake was given up")
	}
	h.mu.Lock()
	early := h.early
	h.became, h.early = a, nil
	h.mu.Unlock()
	outcome := counters.HandshakeFull
	if s.resumed {
		outcome = counters.HandshakeResumed
	}
	e.o.Counters.Handshakes.Add(outcome, 1)
	e.o.Log.Debug().Stringer("remote", h.from).Stringer("suite", k.suite).Stringer("outcome", outcome).Msg("DTLS association established")
	a.takeEarly(early)
	return a, nil
}

// accept sets the handler of the association. An earlier end of the association waits until the handler is set.
func (h *half) accept(a *Association) {
	a.in.Lock()
	defer a.in.Unlock()
	a.handler = h.e.acceptor.Accept(a)
}

// halves is the list of handshakes whose address is not proven, oldest first. The Endpoint's mu guards it.
type halves struct{ list.List[*half] }

// oldestOf returns the oldest handshake of a source that may be evicted for a newer one.
func (l *halves) oldestOf(source netip.Prefix, now time.Time) *half {
	for h := range l.All() {
		switch {
		case now.Sub(h.began) < cookieTime:
			return nil
		case h.source == source && h.pipe.givesWay(now, h.began):
			return h
		}
	}
	return nil
}

// oldest returns the oldest handshake whose address is not proven. It removes proven ones from the list.
func (l *halves) oldest() *half {
	for h := range l.All() {
		if !h.pipe.isProven() {
			return h
		}
		l.Remove(&h.unproven)
	}
	return nil
}

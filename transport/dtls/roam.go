package dtls

import (
	"net/netip"
	"slices"
	"time"

	"troupe/messages/counters"
)

// There are no connection ids (RFC 9146) here, because stock clients know none. So
// when a NAT gives a peer another port or address, its records come from an address
// that nothing is known of, and do not say whose they are. What tells is that they
// decrypt: a record from nowhere is tried with the keys of associations that are
// silent and expect a number like its own, those of the same IP address first. The
// one that it belongs to follows it, if the record is newer than all before: nobody
// else can make such a record, and a repeated one moves nothing.

const (
	// roamSilence is how long nothing must have come from where an association is.
	roamSilence = 200 * time.Millisecond
	// roamAhead is how far above the number that is expected the record's may be.
	roamAhead = 4096
	// roamTries is how many associations are tried for one record.
	roamTries = 8
	// What unauthenticated peers can make the reader do is bounded: a look at one association
	// costs one, a try costs tryCost, and roamPerSecond of that are there per second.
	// It is some percents of a core. Associations of other IP addresses are looked at
	// as long as half of a second's is left.
	tryCost       = 32
	roamPerSecond = 1 << 20
)

// roaming is what the reader needs to find the associations of records from
// nowhere.
type roaming struct {
	left   int // of roamPerSecond
	at     time.Duration
	found  []*Association
	copied [datagramMax]byte
}

// roam takes a record of epoch 1 from an address that nothing is known of, and
// reports whether it belonged to an association, which has followed it. Only the
// reader calls it.
func (e *Endpoint) roam(from netip.AddrPort, r *record) bool {
	if r.epoch != 1 || r.typ != applicationData {
		return false
	}
	w, now := &e.roaming, e.now()
	since := min(now-w.at, 2*time.Second) // what is owed is less than that; any longer time would overflow
	w.left = int(min(roamPerSecond, int64(w.left)+int64(since)*roamPerSecond/int64(time.Second)))
	w.at = now
	if w.left <= 0 {
		return false
	}
	e.mu.Lock()
	w.search(e.byIP[from.Addr()], r.number, now)
	e.mu.Unlock()
	if e.try(from, r) {
		return true
	}
	if w.left < roamPerSecond/2 {
		return false
	}
	e.mu.Lock()
	for ip, all := range e.byIP {
		if ip != from.Addr() {
			w.search(all, r.number, now)
		}
	}
	e.mu.Unlock()
	return e.try(from, r)
}

// search adds those to found that a record may belong to, and keeps the likeliest.
func (w *roaming) search(all []*Association, number uint64, now time.Duration) {
	w.left -= len(all)
	for _, a := range all {
		top := a.top.Load()
		if number < top || number-top > roamAhead || now-time.Duration(a.heard.Load()) < roamSilence {
			continue
		}
		at := len(w.found)
		for at > 0 && w.found[at-1].top.Load() < top {
			at--
		}
		if at == roamTries {
			continue
		}
		if len(w.found) == roamTries {
			w.found = w.found[:roamTries-1]
		}
		w.found = slices.Insert(w.found, at, a)
	}
}

// try tries a record with those found, and forgets them.
func (e *Endpoint) try(from netip.AddrPort, r *record) (ok bool) {
	w := &e.roaming
	for _, a := range w.found {
		if ok {
			break
		}
		w.left -= tryCost
		spare := *r // a failed opening destroys the bytes
		spare.raw = w.copied[:copy(w.copied[:], r.raw)]
		spare.fragment = spare.raw[headerSize:]
		ok = a.adopt(&spare, func() bool { return e.follow(a, from) })
	}
	clear(w.found)
	w.found = w.found[:0]
	return ok
}

// follow moves an association to where its peer is now.
func (e *Endpoint) follow(a *Association, to netip.AddrPort) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := a.RemoteAddr()
	gated := e.o.Admit != nil && to.Addr() != was.Addr() && !e.o.Admit(to.Addr())
	if a.ipIndex < 0 || e.peers[to] != nil || gated {
		e.drop(counters.RecordUnknownAddress)
		return false
	}
	e.strike(a)
	a.setRemote(to)
	e.enter(a)
	e.o.Counters.Moves.Add(e.o.Channel, 1)
	e.o.Log.Debug().Stringer("remote", to).Stringer("before", was).Msg("DTLS association moved")
	return true
}

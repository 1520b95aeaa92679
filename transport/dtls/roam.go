package dtls

import (
	"net/netip"
	"slices"
	"time"

	"troupe/messages/counters"
)

// This package has no connection ids (RFC 9146), because stock clients do not support them. When a NAT gives a peer
// another port or address, its records come from an unknown address and do not identify their association. So the
// reader tries to decrypt such a record with the keys of several associations. The candidates have been silent and
// expect a record number close to this one. Associations of the same IP address are tried first. If the keys of one
// fit, and the record is newer than all before, the association moves to the record's address. Only the peer can create
// such a record, and a replayed one does not move the association.

const (
	// roamSilence is how long an association must have been silent to be a candidate.
	roamSilence = 200 * time.Millisecond
	// roamAhead is how far the record's number may be above the expected number of a candidate.
	roamAhead = 4096
	// roamTries is how many associations are tried for one record.
	roamTries = 8
	// roamPerSecond is a budget in units per second, a few percent of a core. It limits the work that unauthenticated
	// peers can cause. Checking one association costs one unit; trying to decrypt costs tryCost units. Associations of
	// other IP addresses are checked only while at least half of the budget is left.
	tryCost       = 32
	roamPerSecond = 1 << 20
)

// roaming is the reader's state for finding the associations of records from unknown addresses.
type roaming struct {
	left   int // units left of roamPerSecond
	at     time.Duration
	found  []*Association
	copied [datagramMax]byte
}

// roam tries to find the association of a record from an unknown address. If it returns true, the association has moved
// to that address, or was not allowed to, and the record is handled. The reader calls it.
func (e *Endpoint) roam(from netip.AddrPort, r *record) bool {
	if r.epoch != 1 || r.typ != applicationData {
		return false
	}
	w, now := &e.roaming, e.now()
	since := min(now-w.at, 2*time.Second) // the budget is full after this time; a longer time could overflow
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

// search adds to found the associations that a record may belong to. It keeps at most roamTries, the likeliest ones.
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

// try tries to decrypt a record with the associations found, and clears found.
func (e *Endpoint) try(from netip.AddrPort, r *record) (ok bool) {
	w := &e.roaming
	for _, a := range w.found {
		if ok {
			break
		}
		w.left -= tryCost
		spare := *r // a failed decryption destroys the bytes, so use a copy
		spare.raw = w.copied[:copy(w.copied[:], r.raw)]
		spare.fragment = spare.raw[headerSize:]
		ok = a.adopt(&spare, func() bool { return e.follow(a, from) })
	}
	clear(w.found)
	w.found = w.found[:0]
	return ok
}

// follow moves an association to the new address of its peer. It returns false if it may not move there.
func (e *Endpoint) follow(a *Association, to netip.AddrPort) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := a.RemoteAddr()
	if a.ipIndex < 0 || e.peers[to] != nil {
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

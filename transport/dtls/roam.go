package dtls

import (
	"net/netip"
	"slices"
	"time"

	"troupe/messages/counters"
)

// There are no connection ids (RFC 9146) here: stock clients do not support them. When a NAT gives a peer another port or
// address, its records come from an unknown address and do not name their association. So the reader tries to decrypt them
// with the keys of associations that are silent and expect a number close to the record's, those of the same IP address first.
// The association whose keys fit follows a record that is newer than all before to its address: only the peer can make one,
// and a replayed one moves nothing.

const (
	// roamSilence is how long an association must have been silent to be a candidate.
	roamSilence = 200 * time.Millisecond
	// roamAhead is how far the record's number may be above the expected one.
	roamAhead = 4096
	// roamTries is how many associations are tried for one record.
	roamTries = 8
	// A budget of roamPerSecond units per second, a few percent of a core, bounds the work that unauthenticated peers can cause.
	// Checking one association costs one unit, trying to decrypt tryCost. Associations of other IP addresses are checked only
	// while half of the budget is left.
	tryCost       = 32
	roamPerSecond = 1 << 20
)

// roaming is the reader's state for finding the associations of records from unknown addresses.
type roaming struct {
	left   int // of roamPerSecond
	at     time.Duration
	found  []*Association
	copied [datagramMax]byte
}

// roam processes a record from an unknown address: an association that it belongs to has then followed. The reader calls it.
func (e *Endpoint) roam(from netip.AddrPort, r *record) bool {
	if r.epoch != 1 || r.typ != applicationData {
		return false
	}
	w, now := &e.roaming, e.now()
	since := min(now-w.at, 2*time.Second) // the budget is refilled by then; a longer time could overflow
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

// search adds the associations to found that a record may belong to, and keeps the likeliest.
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
		spare := *r // a failed decryption destroys the bytes
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

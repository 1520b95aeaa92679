package clustertest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/messages/coord"
)

// Store keeps the records of a coordinator in memory. It uses the time of the process, or of a synctest bubble. Its
// methods may be called from any goroutine. Close stops its timers. A watch ends with its context.
type Store struct {
	mu        sync.Mutex
	revision  int64
	compacted int64
	keys      map[string][]version
	log       []coord.Event // the changes that are not compacted, in order
	leases    map[coord.Lease]*lease
	lastLease coord.Lease
	grants    map[coord.Lease]granted // all leases that were ever granted, for SetBack
	changed   chan struct{}           // closed at each change of the store
	full      bool
	away      bool
}

// granted is the state in which a lease began.
type granted struct {
	ttl time.Duration
	at  int64 // the revision of the store then
}

// version is the value of a key from a revision on.
type version struct {
	coord.KV
	deleted bool
}

type lease struct {
	ttl   time.Duration
	timer *time.Timer
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{revision: 1, keys: map[string][]version{}, leases: map[coord.Lease]*lease{}, grants: map[coord.Lease]granted{},
		changed: make(chan struct{})}
}

// Close stops the timers of all leases.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		l.timer.Stop()
	}
}

// SetFull makes the store refuse changes with ErrFull, or accept them again.
func (s *Store) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// SetAway stops the store, or starts it again. A stopped store does not answer, and no lease ends. When it starts again,
// each lease gets its full time, as with a new leader of etcd.
func (s *Store) SetAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
	for _, l := range s.leases {
		if l.timer.Stop(); !away {
			l.timer.Reset(l.ttl)
		}
	}
	s.wake()
}

// isAway reports whether the store is stopped. wake is closed when that may have changed.
func (s *Store) isAway() (away bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away, s.changed
}

// SetBack restores the records and leases of a revision that is not compacted. Each lease gets its full time. The next
// revisions follow that revision plus bump. If bump is not 0, all older revisions are compacted.
func (s *Store) SetBack(revision, bump int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := func(kv coord.KV) bool { return kv.Changed > revision }
	for key, all := range s.keys {
		if s.keys[key] = slices.DeleteFunc(all, func(v version) bool { return later(v.KV) }); len(s.keys[key]) == 0 {
			delete(s.keys, key)
		}
	}
	s.log = slices.DeleteFunc(s.log, func(e coord.Event) bool { return later(e.KV) })
	s.revision = revision + bump
	if bump > 0 {
		s.compacted, s.log = s.revision, nil
	}
	for id, l := range s.leases {
		l.timer.Stop()
		delete(s.leases, id)
	}
	for id, g := range s.grants {
		if g.at <= revision {
			s.begin(id, g.ttl)
		}
	}
	s.wake()
}

// Revision returns the revision of the last change.
func (s *Store) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

func (s *Store) compact(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = max(s.compacted, revision)
	s.log = slices.DeleteFunc(s.log, func(e coord.Event) bool { return e.Changed <= revision })
	for key, all := range s.keys {
		for len(all) > 1 && all[1].Changed <= revision {
			all = all[1:]
		}
		if s.keys[key] = all; all[0].deleted && all[0].Changed <= revision {
			if s.keys[key] = all[1:]; len(all) == 1 {
				delete(s.keys, key)
			}
		}
	}
	s.wake()
}

// RevokeEarly ends the lease of a key before its time, as a coordinator with a slow disk may.
func (s *Store) RevokeEarly(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kv, there := s.at(key, s.revision); there && kv.Lease != 0 {
		s.end(kv.Lease)
	}
}

func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// at returns the record of a key at a revision.
func (s *Store) at(key string, revision int64) (coord.KV, bool) {
	for _, v := range slices.Backward(s.keys[key]) {
		if v.Changed <= revision && !v.deleted {
			return v.KV, true
		} else if v.Changed <= revision {
			break
		}
	}
	return coord.KV{}, false
}

func (s *Store) read(q coord.Query) (coord.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.revision
	if q.At != 0 {
		if at = q.At; at < s.compacted {
			return coord.Found{}, coord.ErrCompacted
		}
	}
	found := coord.Found{At: at}
	if !q.Prefix {
		for _, key := range []string{q.Key, q.Else} {
			if kv, there := s.at(key, at); there {
				found.KVs = []coord.KV{kv}
				break
			}
		}
		return found, nil
	}
	for key := range s.keys {
		if !strings.HasPrefix(key, q.Key) || q.After != "" && key <= q.After {
			continue
		}
		if kv, there := s.at(key, at); there {
			found.KVs = append(found.KVs, kv)
		}
	}
	if q.Keys {
		for i := range found.KVs {
			found.KVs[i].Value = nil
		}
	}
	slices.SortFunc(found.KVs, func(a, b coord.KV) int { return strings.Compare(a.Key, b.Key) })
	if q.Most > 0 && len(found.KVs) > q.Most {
		found.KVs, found.More = found.KVs[:q.Most], true
	}
	return found, nil
}

func (s *Store) commit(when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range when {
		if c.Below {
			if s.writtenBelow(c.Key, c.Revision) {
				return false, s.revision, nil
			}
			continue
		}
		kv, _ := s.at(c.Key, s.revision)
		is := kv.Changed
		if c.Created {
			is = kv.Created
		}
		if is != c.Revision {
			return false, s.revision, nil
		}
	}
	if s.full && slices.ContainsFunc(changes, func(c coord.Change) bool { return !c.Delete }) {
		return false, 0, coord.ErrFull
	}
	for _, c := range changes {
		if c.Lease != 0 && s.leases[c.Lease] == nil {
			return false, 0, coord.ErrGone
		}
	}
	s.apply(changes)
	return true, s.revision, nil
}

// writtenBelow reports whether there is a record whose key begins with a prefix and that was written after a revision.
func (s *Store) writtenBelow(prefix string, after int64) bool {
	for key := range s.keys {
		if kv, there := s.at(key, s.revision); there && strings.HasPrefix(key, prefix) && kv.Changed > after {
			return true
		}
	}
	return false
}

// apply makes all changes in one revision, if they change anything.
func (s *Store) apply(changes []coord.Change) {
	next := s.revision + 1
	for _, c := range changes {
		before, there := s.at(c.Key, s.revision)
		if c.Delete && !there {
			continue
		}
		kv := coord.KV{Key: c.Key, Changed: next}
		if !c.Delete {
			kv.Value, kv.Lease, kv.Created = slices.Clone(c.Value), c.Lease, next
			if there {
				kv.Created = before.Created
			}
		}
		s.keys[c.Key] = append(s.keys[c.Key], version{kv, c.Delete})
		s.log = append(s.log, coord.Event{KV: kv, Deleted: c.Delete})
		s.revision = next
	}
	s.wake()
}

func (s *Store) grant(ttl time.Duration) coord.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLease++
	s.grants[s.lastLease] = granted{ttl, s.revision}
	s.begin(s.lastLease, ttl)
	return s.lastLease
}

// begin starts the timer of a lease.
func (s *Store) begin(id coord.Lease, ttl time.Duration) {
	l := &lease{ttl: ttl}
	l.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[id] == l && !s.away {
			s.end(id)
		}
	})
	if s.leases[id] = l; s.away {
		l.timer.Stop()
	}
}

func (s *Store) renew(id coord.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[id]
	if l == nil || !l.timer.Stop() { // the timer has fired, and its function waits for the lock
		return coord.ErrGone
	}
	l.timer.Reset(l.ttl)
	return nil
}

func (s *Store) revoke(id coord.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id)
}

// end deletes a lease, and deletes its keys in one revision.
func (s *Store) end(id coord.Lease) {
	l := s.leases[id]
	if l == nil {
		return
	}
	l.timer.Stop()
	delete(s.leases, id)
	var changes []coord.Change
	for key := range s.keys {
		if kv, there := s.at(key, s.revision); there && kv.Lease == id {
			changes = append(changes, coord.Delete(key))
		}
	}
	slices.SortFunc(changes, func(a, b coord.Change) int { return strings.Compare(a.Key, b.Key) })
	s.apply(changes)
}

// since returns the changes of a prefix after a revision, up to the newest one. wake is closed at the next change.
func (s *Store) since(prefix string, after int64) (events []coord.Event, at int64, wake <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < s.compacted && after < s.revision {
		return nil, 0, nil, coord.ErrCompacted
	}
	for _, e := range s.log {
		if e.Changed > after && strings.HasPrefix(e.Key, prefix) {
			events = append(events, e)
		}
	}
	return events, s.revision, s.changed, nil
}

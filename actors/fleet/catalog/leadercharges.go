package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// chargeRecord is the stored form of creations, of at most 20 KB. A new Leader goes on with it. Each charge writes it
// anew, so its size must not depend on the limit, which may be any number:
//
//   - Of the newest chargesKept creations there are time and tag.
//   - Those before are only counted, per hundredth of the period. A hundredth is forgotten as a whole, when its newest
//     creation is as old as the period.
//
// So a creator never exceeds the limit. It may have to wait longer than the period, by a hundredth of it, and after a
// change of the Leader by another second, because stored times are rounded up. A creation that is only counted has no
// tag: it is counted twice if it is charged again, and is not refunded.
type chargeRecord struct {
	Fleet   messages.FleetID
	Creator string
	Keep    time.Duration
	Newest  []byte     // per creation tag and seconds since 1970, of 8 and 4 bytes, big endian
	Older   [][2]int64 // per hundredth of the period seconds since 1970 of its newest creation, and number
}

// tag names a game session within the creations of one creator.
type tag [8]byte

// bucket counts the creations of a hundredth of the period.
type bucket struct {
	newest time.Time
	n      int
}

const (
	chargesKept      = 1000        // maximum number of creations of one creator that are not only counted
	chargeBuckets    = 100         // number of buckets in a period
	chargeBytes      = 8 + 4       // size of a creation in a record
	chargesWaiting   = 1000        // maximum number of charges of one creator that wait for the store
	chargeSweepEvery = time.Minute // how often creators whose period is over are forgotten
	chargeSweepAgain = time.Second // how soon a sweep goes on if it has left records
	chargeSweepMax   = 100         // maximum number of records that are deleted in one sweep
	chargeSweepGroup = 50          // maximum number of records that are deleted in one transaction
)

// chargesDue tells a Leader to forget the creators whose period is over.
type chargesDue struct{}

// chargeKey returns the key of a creator's record. It contains a hash, because a creator's id is any text.
func chargeKey(who creator) ledger.Key {
	sum := sha256.Sum256([]byte(who.id))
	return ledger.Key{Kind: store.Charge, ID: string(who.fleet) + "/" + hex.EncodeToString(sum[:16])}
}

func (l *Leader) restoreCharges() error {
	return load(l.Catalog, store.Charge, func(r *chargeRecord) string { return chargeKey(creator{r.Fleet, r.Creator}).ID }, func(r *chargeRecord) {
		l.setCharges(creator{r.Fleet, r.Creator}, r.creations())
	})
}

func newChargeRecord(who creator, m *creations) chargeRecord {
	r := chargeRecord{Fleet: who.fleet, Creator: who.id, Keep: m.keep, Newest: make([]byte, 0, len(m.made)*chargeBytes)}
	for _, c := range m.made {
		r.Newest = binary.BigEndian.AppendUint32(append(r.Newest, c.tag[:]...), uint32(secondsUp(c.at)))
	}
	for _, b := range m.older {
		r.Older = append(r.Older, [2]int64{secondsUp(b.newest), int64(b.n)})
	}
	return r
}

func (r *chargeRecord) creations() *creations {
	m := &creations{keep: r.Keep, stored: true}
	for b := r.Newest; len(b) >= chargeBytes; b = b[chargeBytes:] {
		at := binary.BigEndian.Uint32(b[len(tag{}):])
		m.made = append(m.made, creation{time.Unix(int64(at), 0), tag(b[:len(tag{})])})
	}
	for _, b := range r.Older {
		m.older = append(m.older, bucket{time.Unix(b[0], 0), int(b[1])})
	}
	return m
}

// secondsUp returns the seconds since 1970, rounded up.
func secondsUp(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

func tagOf(game string) tag {
	sum := sha256.Sum256([]byte(game))
	return tag(sum[:len(tag{})])
}

// count returns the number of creations.
func (m *creations) count() int {
	n := len(m.made)
	for _, b := range m.older {
		n += b.n
	}
	return n
}

// forgetAll is forget for creations that a Leader has bounded.
func (m *creations) forgetAll(period time.Duration, now time.Time) {
	m.forget(period, now)
	n := 0
	for n < len(m.older) && now.Sub(m.older[n].newest) >= period {
		n++
	}
	m.older = m.older[n:]
}

// bound puts all but the newest creations into buckets. It puts the older ones there again, because the period may have
// changed.
func (m *creations) bound() {
	older := slices.Clone(m.older)
	n := max(len(m.made)-chargesKept, 0)
	for _, c := range m.made[:n] {
		older = append(older, bucket{c.at, 1})
	}
	m.made, m.older = slices.Delete(m.made, 0, n), older[:0]
	width := m.keep / chargeBuckets
	for _, b := range older {
		last := len(m.older) - 1
		if last < 0 || m.older[last].newest.Truncate(width).Before(b.newest.Truncate(width)) {
			m.older = append(m.older, b)
			continue
		}
		m.older[last].n += b.n
		if b.newest.After(m.older[last].newest) {
			m.older[last].newest = b.newest
		}
	}
}

func (l *Leader) setCharges(who creator, next *creations) {
	if l.creators.made == nil {
		l.creators.made = make(map[creator]*creations)
	}
	l.creators.made[who] = next
}

// onCharge counts a game session once, or reverts that. The answer is durable if the fleet has a limit of its own. The
// limit of other fleets is over in a second, sooner than there is another leader.
func (l *Leader) onCharge(r stage.Request[messages.ChargeCreator, stage.None]) {
	q := r.Request
	who := creator{q.FleetID, q.CreatorID}
	if f := l.Fleet(q.FleetID); f != nil && f.CreatorLimit != nil {
		l.ledger.Do(ledger.Transaction{Key: chargeKey(who), WaitingMax: chargesWaiting, Reply: r.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
			next, err := l.charged(q)
			if next == nil {
				return ledger.Entry{}, err
			}
			next.stored = true
			record := store.Put(store.Charge, chargeKey(who).ID, newChargeRecord(who, next))
			return ledger.Entry{Changes: []store.Change{record}, Apply: func() { l.setCharges(who, next) }}, nil
		}})
		return
	}
	next, err := l.charged(q)
	if next != nil {
		l.setCharges(who, next)
	}
	r.Reply(stage.None{}, err)
}

// charged returns the creations of a creator after a request. It returns nil if they stay as they are.
func (l *Leader) charged(q messages.ChargeCreator) (*creations, error) {
	f := l.Fleet(q.FleetID)
	if f == nil {
		return nil, l.unknown(store.Fleet, string(q.FleetID))
	}
	limit, limited, err := limitOf(f, q.CreatorID)
	if !limited {
		return nil, err
	}
	next := &creations{keep: limit.Period}
	if now := l.creators.made[creator{q.FleetID, q.CreatorID}]; now != nil {
		next.older, next.made, next.stored = now.older, slices.Clone(now.made), now.stored
	}
	next.forgetAll(limit.Period, l.context.Now())
	made := tagOf(q.For)
	i := slices.IndexFunc(next.made, func(c creation) bool { return c.tag == made })
	switch {
	case q.Refund && i >= 0:
		next.made = slices.Delete(next.made, i, i+1)
	case q.Refund || i >= 0:
		return nil, nil
	case next.count() >= limit.PerPeriod:
		return nil, exceeded(f, q.CreatorID, limit)
	default:
		next.made = append(next.made, creation{l.context.Now(), made})
	}
	next.bound()
	return next, nil
}

// sweepCharges forgets the creators whose period is over, and deletes their records. Deletions share the store with
// placements, so a sweep that finds too many leaves the rest to the next one, which then comes sooner. If the store
// refuses a deletion, the next Leader does it.
func (l *Leader) sweepCharges() {
	var over []store.Change
	next := chargeSweepEvery
	for who, c := range l.creators.made {
		key := chargeKey(who)
		if c.forgetAll(c.keep, l.context.Now()); c.count() > 0 || !l.ledger.Free(key) {
			continue
		}
		if c.stored {
			if len(over) == chargeSweepMax {
				next = chargeSweepAgain
				continue
			}
			over = append(over, store.Delete(key.Kind, key.ID))
		}
		delete(l.creators.made, who)
	}
	for group := range slices.Chunk(over, chargeSweepGroup) {
		l.ledger.CommitAsync(group...)
	}
	l.context.After(next, chargesDue{})
}

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// chargeRecord is the stored form of creations. A new Leader goes on with it.
type chargeRecord struct {
	Fleet   messages.FleetID
	Creator string
	Keep    time.Duration
	Made    []creation
}

const (
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
		l.setCharges(creator{r.Fleet, r.Creator}, &creations{made: r.Made, keep: r.Keep, stored: true})
	})
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
			record := store.Put(store.Charge, chargeKey(who).ID, chargeRecord{q.FleetID, q.CreatorID, next.keep, next.made})
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
		next.made, next.stored = slices.Clone(now.made), now.stored
	}
	next.forget(limit.Period, l.context.Now())
	i := slices.IndexFunc(next.made, func(c creation) bool { return c.For == q.For })
	switch {
	case q.Refund && i >= 0:
		next.made = slices.Delete(next.made, i, i+1)
	case q.Refund || i >= 0:
		return nil, nil
	case len(next.made) >= limit.PerPeriod:
		return nil, exceeded(f, q.CreatorID, limit)
	default:
		next.made = append(next.made, creation{l.context.Now(), q.For})
	}
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
		if c.forget(c.keep, l.context.Now()); len(c.made) > 0 || !l.ledger.Free(key) {
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

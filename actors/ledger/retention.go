package ledger

import (
	"iter"
	"strconv"
	"time"

	"troupe/actors/store"
)

// ForgetMax limits the number of records that one commit of Retention.Forget deletes.
const ForgetMax = 64

// Limits say which records a Retention keeps.
type Limits struct {
	Kind store.Kind
	// EndedMax limits the number of ended records. KeepFor limits the time since their end.
	EndedMax int
	KeepFor  time.Duration
	// BytesMax limits the total size of all records.
	BytesMax int
}

// Kept is the part of a record that a Retention needs. The owner embeds it in its own state of the record.
type Kept struct {
	Bytes     int // size of the stored record; Resize changes it
	id        string
	ended     time.Time // zero until the record has ended
	forgotten bool
}

// Retention counts the records of one kind and forgets ended records: those that are too old, and the oldest ones if
// there are too many or they take too much memory. Only the actor that owns the ledger may call its methods.
type Retention struct {
	l      *Ledger
	limits Limits
	forget func(id string)

	bytes      int     // size of all records
	endedBytes int     // size of the ended records
	count      int     // number of ended records
	ended      []*Kept // sorted by the time of their end; may contain forgotten records
}

// NewRetention returns an empty Retention. It calls forget for each record that it forgets, so that the owner can
// remove the record.
func (l *Ledger) NewRetention(limits Limits, forget func(id string)) *Retention {
	return &Retention{l: l, limits: limits, forget: forget}
}

// Add counts a record that has not ended.
func (r *Retention) Add(k *Kept, id string, bytes int) {
	*k = Kept{id: id, Bytes: bytes}
	r.bytes += bytes
}

// Resize changes the size of a record that has not ended.
func (r *Retention) Resize(k *Kept, bytes int) {
	r.bytes += bytes - k.Bytes
	k.Bytes = bytes
}

// End counts a record as ended. Calls must be in the order of the ends.
func (r *Retention) End(k *Kept, at time.Time) {
	k.ended = at
	r.ended = append(r.ended, k)
	r.count++
	r.endedBytes += k.Bytes
}

// Drop removes an ended record from the counts, because a newer record takes its id.
func (r *Retention) Drop(k *Kept) {
	if !k.forgotten {
		k.forgotten = true
		r.count--
		r.bytes -= k.Bytes
		r.endedBytes -= k.Bytes
	}
}

// Expired reports whether a record ended so long ago that it must no longer be shown.
func (r *Retention) Expired(k *Kept, now time.Time) bool {
	return !k.ended.IsZero() && now.Sub(k.ended) > r.limits.KeepFor
}

// Fits reports whether one more record of the given size fits if all ended records are forgotten.
func (r *Retention) Fits(bytes int) bool {
	return r.bytes-r.endedBytes+r.l.Claimed(r.limits.Kind).Bytes+bytes <= r.limits.BytesMax
}

// Forget deletes ended records, oldest first, until the limits hold with one more record of the given size. It deletes
// at most ForgetMax records.
func (r *Retention) Forget(now time.Time, bytes int) {
	var deleted []store.Change
	bytes += r.l.Claimed(r.limits.Kind).Bytes
	n := 0
	for ; n < len(r.ended) && len(deleted) < ForgetMax; n++ {
		k := r.ended[n]
		if k.forgotten {
			continue
		}
		if r.count <= r.limits.EndedMax && r.bytes+bytes <= r.limits.BytesMax && !r.Expired(k, now) {
			break
		}
		r.Drop(k)
		r.forget(k.id)
		if r.l.Free(Key{Kind: r.limits.Kind, ID: k.id}) { // otherwise a newer record with the same id is being stored
			deleted = append(deleted, store.Delete(r.limits.Kind, k.id))
		}
	}
	clear(r.ended[:n])
	r.ended = r.ended[n:]
	if deleted != nil {
		r.l.CommitAsync(deleted...)
	}
}

// Newest yields the ids of the records that ended last, newest first. It visits at most the given number of records.
func (r *Retention) Newest(visits int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(r.ended) - 1; i >= max(0, len(r.ended)-visits); i-- {
			if k := r.ended[i]; !k.forgotten && !yield(k.id) {
				return
			}
		}
	}
}

// Inspect adds the number of ended records and the number of bytes to an actor's answer.
func (r *Retention) Inspect(to map[string]string) map[string]string {
	to["ended"], to["bytes"] = strconv.Itoa(r.count), strconv.Itoa(r.bytes)
	return to
}

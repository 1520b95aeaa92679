package ledger

import (
	"iter"
	"strconv"
	"time"

	"troupe/actors/store"
)

// ForgetMax bounds the records that one commit of Retention.Forget deletes.
const ForgetMax = 64

// Limits say which records a Retention keeps.
type Limits struct {
	Kind store.Kind
	// EndedMax bounds the number of ended records, and KeepFor the time since their end.
	EndedMax int
	KeepFor  time.Duration
	// BytesMax bounds the size of all records together.
	BytesMax int
}

// Kept is the part of a record that a Retention reads. The owner embeds it where it keeps the record.
type Kept struct {
	Bytes     int // size of the stored record; Resize changes it
	id        string
	ended     time.Time // zero until then
	forgotten bool
}

// Retention counts the records of one kind and forgets ended ones: those that are too old, and the oldest if there are too many
// or they take too much memory. It belongs to the actor that owns the ledger, and only that actor may call its methods.
type Retention struct {
	l      *Ledger
	limits Limits
	forget func(id string)

	bytes      int     // of all records
	endedBytes int     // of ended records
	count      int     // of ended records
	ended      []*Kept // by time of their end; may contain forgotten ones
}

// NewRetention returns an empty Retention. It calls forget for each record that it forgets: the owner removes it then.
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

// Drop removes an ended record from the count, because a newer one takes its id.
func (r *Retention) Drop(k *Kept) {
	if !k.forgotten {
		k.forgotten = true
		r.count--
		r.bytes -= k.Bytes
		r.endedBytes -= k.Bytes
	}
}

// Expired reports whether a record ended so long ago that it must not be shown.
func (r *Retention) Expired(k *Kept, now time.Time) bool {
	return !k.ended.IsZero() && now.Sub(k.ended) > r.limits.KeepFor
}

// Fits reports whether one more record of this size fits, if all ended ones are forgotten.
func (r *Retention) Fits(bytes int) bool {
	return r.bytes-r.endedBytes+r.l.Claimed(r.limits.Kind).Bytes+bytes <= r.limits.BytesMax
}

// Forget deletes ended records, oldest first and at most ForgetMax, until the limits hold with one more of this size.
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
		if r.l.Free(Key{Kind: r.limits.Kind, ID: k.id}) { // otherwise a newer record with this id is being stored
			deleted = append(deleted, store.Delete(r.limits.Kind, k.id))
		}
	}
	clear(r.ended[:n])
	r.ended = r.ended[n:]
	if deleted != nil {
		r.l.CommitAsync(deleted...)
	}
}

// Newest yields the ids of the records that ended last, newest first. It visits at most this many.
func (r *Retention) Newest(visits int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(r.ended) - 1; i >= max(0, len(r.ended)-visits); i-- {
			if k := r.ended[i]; !k.forgotten && !yield(k.id) {
				return
			}
		}
	}
}

// Inspect adds the numbers of ended records and of bytes to an actor's answer.
func (r *Retention) Inspect(to map[string]string) map[string]string {
	to["ended"], to["bytes"] = strconv.Itoa(r.count), strconv.Itoa(r.bytes)
	return to
}

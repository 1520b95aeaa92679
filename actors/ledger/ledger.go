package ledger

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
)

// Key names a record. The changes of one record are made one after the other.
type Key struct {
	Kind store.Kind
	ID   string
}

// String returns the key for error texts.
func (k Key) String() string {
	if k.Kind == store.Queue {
		return "queue " + k.ID
	}
	return k.ID
}

// Transaction is one requested change.
type Transaction struct {
	// Key is the record that is changed.
	Key Key
	// Uses are further records that must not change during the transaction.
	Uses []Key
	// WaitingMax limits the number of waiting transactions of Key. 0 means 16.
	WaitingMax int
	// Decide checks the request and returns the records to store. It must not change visible state. It is called in the
	// owner, possibly before Do returns.
	Decide func() (Entry, error)
	// Reply receives the result exactly once, from any goroutine. It may be nil.
	Reply func(error)
	// Survives is for an owner whose successor continues with the durable changes. If the owner has stopped and the
	// changes are durable, Reply gets nil instead of an error.
	Survives bool
	// Orphaned receives the store's answer if the owner has stopped before it arrived. It is called before Reply, from
	// any goroutine. It may be nil.
	Orphaned func(error)
}

// Entry is the result of Decide: the changes to commit and what to do afterwards.
type Entry struct {
	Changes []store.Change
	Events  []messages.Event
	// Apply changes the owner's state. It is called in the owner, before Reply, when Changes and Events are durable. It
	// may be nil.
	Apply func()
	// Refused releases what Decide has reserved. It is called in the owner, before Reply, if the store refuses the
	// changes. It may be nil.
	Refused func()
	// Takes are further records that the transaction changes. They must be Free.
	Takes []Key
	// Claim is the number and the size of the records that the transaction adds.
	Claim Claim
}

// Claim is the part of a bounded collection that a pending transaction takes.
type Claim struct{ Count, Bytes int }

// Record is one record of a Note. Change is called in the owner right before the record is stored and returns its
// current state.
type Record struct {
	Key    Key
	Change func() store.Change
}

// Options of a Ledger.
type Options struct {
	Store store.Store
	// Tell sends an Answer to the owner. It is called from any goroutine.
	Tell func(msg any)
	// After sends a Due to the owner after the given time.
	After func(d time.Duration, msg any)
	// Publish receives events once they are durable. It may be nil and is called from any goroutine.
	Publish func(messages.Event)
	// EventsDropped counts the events of notes that were dropped. It may be nil.
	EventsDropped func(n int)
	// Log receives the errors of the store.
	Log *zerolog.Logger
	// Stopped is the error for transactions that are not completed because the owner stops or the store has closed.
	Stopped error
}

const (
	// waitingMax is the default of Transaction.WaitingMax.
	waitingMax = 16
	// EventsMax limits the number of waiting events of one key. Without a limit they would pile up during an outage of
	// the store.
	EventsMax = 4096
	// retryMin is the shortest pause before a refused note is retried. The pause is random between retryMin and twice
	// that, because many notes may be refused at the same time.
	retryMin = 2 * time.Second
)

// Ledger orders the changes of one actor. Only that actor may call its methods.
type Ledger struct {
	o       Options
	states  map[Key]*keyState
	claims  map[store.Kind]Claim
	stopped bool
}

// New returns a Ledger for an actor.
func New(o Options) *Ledger {
	return &Ledger{o: o, states: make(map[Key]*keyState), claims: make(map[store.Kind]Claim)}
}

// keyState is the pending work of one key.
type keyState struct {
	queue      []*pending // in the order of Do; transactions that have begun come first
	noted      noted
	noting     bool // a commit that contains only notes is in flight
	backingOff bool // a note was refused and will be retried later
	discarded  bool // the notes in flight must not be retried
}

type pending struct {
	Transaction
	entry Entry
	begun bool
}

// changes reports whether a transaction changes the record k, rather than only using it.
func (p *pending) changes(k Key) bool {
	return !slices.Contains(p.Uses, k)
}

// batch is one commit.
type batch struct {
	l     *Ledger
	p     *pending // nil if the batch contains only notes
	notes []part
}

type part struct {
	key Key
	noted
}

// Answer is the store's answer to one commit. The owner must pass it to Answered.
type Answer struct {
	b   *batch
	err error
}

// Due says that the notes of a key must be retried. The owner must pass it to TryAgain.
type Due struct{ key Key }

// Do starts a transaction, or queues it behind earlier ones of its keys.
func (l *Ledger) Do(t Transaction) {
	p := &pending{Transaction: t}
	if l.stopped {
		p.reply(l.o.Stopped)
		return
	}
	most := cmp.Or(t.WaitingMax, waitingMax)
	for _, k := range p.keys() {
		if l.Waiting(k) >= most {
			p.reply(messages.Errorf(messages.Conflict, "%d changes of %s wait for the store already: try again", most, k))
			return
		}
	}
	for _, k := range p.keys() {
		ks := l.state(k)
		ks.queue = append(ks.queue, p)
	}
	l.advance(t.Key)
}

// Waiting returns the number of transactions of a key that have not begun.
func (l *Ledger) Waiting(k Key) (n int) {
	if ks := l.states[k]; ks != nil {
		for _, p := range ks.queue {
			if !p.begun {
				n++
			}
		}
	}
	return n
}

// Free reports whether a key has no queued or pending work.
func (l *Ledger) Free(k Key) bool { return l.states[k] == nil }

// Claimed returns the sum of the claims of all pending transactions on records of a kind.
func (l *Ledger) Claimed(kind store.Kind) Claim { return l.claims[kind] }

// Note stores the record of something that has already happened. It retries until it succeeds. A later note of the same
// record replaces an earlier one.
func (l *Ledger) Note(k Key, events []messages.Event, records ...Record) {
	if l.stopped || len(events)+len(records) == 0 {
		return
	}
	l.countDropped(l.state(k).noted.add(events, records))
	l.advance(k)
}

// Discard drops the notes of a key, because the record is about to be deleted.
func (l *Ledger) Discard(k Key) {
	if ks := l.states[k]; ks != nil {
		ks.noted, ks.discarded = noted{}, ks.noting || ks.changing(k)
		l.advance(k)
	}
}

// CommitAsync stores changes without waiting for the result. The changes keep their place in the order of all commits.
// It is for changes that the next start repeats if the store refuses them, such as deletions.
func (l *Ledger) CommitAsync(changes ...store.Change) {
	log := l.o.Log
	l.o.Store.Commit(changes, func(err error) {
		if err != nil {
			log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		}
	})
}

// Stop refuses the queued transactions. If last is true, it also tries once more to store the notes. It skips the notes
// of a record with a pending change, because they do not contain that change and would overwrite it. The owner calls
// Stop when it stops.
func (l *Ledger) Stop(last bool) {
	l.stopped = true
	for k, ks := range l.states {
		for _, p := range ks.queue {
			if !p.begun && p.Key == k {
				p.reply(l.o.Stopped)
			}
		}
		if last && !ks.noted.empty() && !ks.changing(k) {
			l.commit(&batch{l: l, notes: []part{{k, ks.noted}}})
		}
	}
	clear(l.states)
}

// Answered handles the result of a commit.
func (l *Ledger) Answered(a Answer) {
	if l.stopped {
		a.OnDeadLetter()
		return
	}
	b := a.b
	for _, n := range b.notes {
		ks := l.states[n.key]
		ks.noting = false
		switch {
		case a.err == nil:
			l.publish(n.events)
		case !ks.discarded:
			l.countDropped(ks.noted.before(n.noted))
			l.backOff(n.key, ks)
		}
		ks.discarded = false
	}
	if a.err != nil {
		l.log(b, a.err)
	}
	if b.p == nil {
		l.advance(b.notes[0].key)
		return
	}
	l.complete(b.p, a.err)
}

// OnDeadLetter implements stage.DeadLetter. It completes a commit whose owner has stopped.
func (a Answer) OnDeadLetter() {
	l, p := a.b.l, a.b.p
	if a.err == nil {
		for _, n := range a.b.notes {
			l.publish(n.events)
		}
	}
	if p == nil {
		return
	}
	if a.err == nil {
		l.publish(p.entry.Events)
	}
	if p.Orphaned != nil {
		p.Orphaned(a.err)
	}
	err := l.o.Stopped
	if p.Survives && a.err == nil {
		err = nil
	}
	p.reply(err)
}

// TryAgain retries the notes of a key.
func (l *Ledger) TryAgain(d Due) {
	if ks := l.states[d.key]; ks != nil {
		ks.backingOff = false
		l.advance(d.key)
	}
}

// complete ends a transaction after the store's answer.
func (l *Ledger) complete(p *pending, err error) {
	l.claim(p, -1)
	if err == nil {
		if p.entry.Apply != nil {
			p.entry.Apply()
		}
		l.publish(p.entry.Events)
	} else {
		if p.entry.Refused != nil {
			p.entry.Refused()
		}
		if errors.Is(err, store.ErrClosed) {
			err = l.o.Stopped
		} else {
			err = NotStored()
		}
	}
	l.end(p, err)
}

func (l *Ledger) claim(p *pending, sign int) {
	if add := p.entry.Claim; add != (Claim{}) {
		c := l.claims[p.Key.Kind]
		l.claims[p.Key.Kind] = Claim{c.Count + sign*add.Count, c.Bytes + sign*add.Bytes}
	}
}

func (l *Ledger) end(p *pending, err error) {
	keys := p.keys()
	for _, k := range keys {
		ks := l.states[k]
		ks.queue = slices.DeleteFunc(ks.queue, func(o *pending) bool { return o == p })
		ks.discarded = ks.discarded && ks.noting
	}
	p.reply(err)
	for _, k := range keys {
		l.advance(k)
	}
}

// advance starts the next transactions of a key, as far as they are ready, or stores its notes.
func (l *Ledger) advance(k Key) {
	for {
		ks := l.states[k]
		if ks == nil || l.stopped {
			return
		}
		i := slices.IndexFunc(ks.queue, func(p *pending) bool { return !p.begun })
		switch {
		case i >= 0 && l.ready(ks.queue[i]):
			l.begin(ks.queue[i])
			continue
		case !ks.noted.empty() && !ks.noting && !ks.backingOff && !ks.changing(k):
			ks.noting = true
			l.commit(&batch{l: l, notes: []part{{k, ks.takeNoted()}}})
		case len(ks.queue) == 0 && ks.noted.empty() && !ks.noting:
			delete(l.states, k)
		}
		return
	}
}

// changing reports whether a pending transaction changes the record.
func (ks *keyState) changing(k Key) bool {
	return len(ks.queue) > 0 && ks.queue[0].begun && ks.queue[0].changes(k)
}

func (l *Ledger) ready(p *pending) bool {
	for _, k := range p.keys() {
		ks := l.states[k]
		if p.changes(k) && (ks.noting || ks.queue[0] != p) {
			return false
		}
		for _, o := range ks.queue {
			if o == p {
				break
			}
			if o.changes(k) {
				return false
			}
		}
	}
	return true
}

// begin calls a transaction's Decide and commits the resulting entry.
func (l *Ledger) begin(p *pending) {
	p.begun = true
	entry, err := p.Decide()
	if err != nil {
		l.end(p, err)
		return
	}
	p.entry = entry
	for _, k := range entry.Takes {
		ks := l.state(k)
		ks.queue = append(ks.queue, p)
	}
	l.claim(p, 1)
	b := &batch{l: l, p: p}
	for _, k := range p.keys() {
		if ks := l.states[k]; p.changes(k) && !ks.noted.empty() {
			b.notes = append(b.notes, part{k, ks.takeNoted()})
		}
	}
	l.commit(b)
}

// commit sends a batch to the store. Notes come first.
func (l *Ledger) commit(b *batch) {
	var changes []store.Change
	for i := range b.notes {
		changes = b.notes[i].appendTo(changes)
	}
	if b.p != nil {
		changes = withEvents(append(changes, b.p.entry.Changes...), b.p.entry.Events)
	}
	tell := l.o.Tell
	l.o.Store.Commit(changes, func(err error) { tell(Answer{b, err}) })
}

// backOff schedules a retry of the notes of a key.
func (l *Ledger) backOff(k Key, ks *keyState) {
	if !ks.backingOff {
		ks.backingOff = true
		l.o.After(retryMin+rand.N(retryMin), Due{k})
	}
}

func (l *Ledger) publish(events []messages.Event) {
	if l.o.Publish == nil {
		return
	}
	for _, e := range events {
		l.o.Publish(e)
	}
}

func (l *Ledger) countDropped(n int) {
	if n == 0 {
		return
	}
	l.o.Log.Error().Int("events", n).Msg("too many events wait for the store: the oldest are lost")
	if l.o.EventsDropped != nil {
		l.o.EventsDropped(n)
	}
}

func (l *Ledger) log(b *batch, err error) {
	e := l.o.Log.Error().Err(err)
	if b.p != nil {
		e.Str("resource", b.p.Key.ID).Msg("not stored")
	} else {
		e.Str("resource", b.notes[0].key.ID).Msg("not stored: it is tried again")
	}
}

func (l *Ledger) state(k Key) *keyState {
	ks := l.states[k]
	if ks == nil {
		ks = new(keyState)
		l.states[k] = ks
	}
	return ks
}

// keys returns the keys of all records that a transaction changes or uses.
func (p *pending) keys() []Key {
	return slices.Concat([]Key{p.Key}, p.Uses, p.entry.Takes)
}

func (p *pending) reply(err error) {
	if p.Reply != nil {
		p.Reply(err)
	}
}

// NotStored returns the error for a change that the store has refused.
func NotStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}

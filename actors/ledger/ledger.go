package ledger

import (
	"cmp"
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
	// Uses are records that must not change meanwhile.
	Uses []Key
	// WaitingMax bounds the transactions of Key that wait; 0: 16.
	WaitingMax int
	// Decide checks the request in the owner, maybe before Do returns, and returns the records to store. It changes no visible state.
	Decide func() (Entry, error)
	// Reply, which may be nil, receives the outcome, once and from any goroutine.
	Reply func(error)
	// Survives: if the owner has stopped, and its successor continues with the durable changes, Reply gets nil.
	Survives bool
	// Orphaned, which may be nil, gets the store's answer, before Reply, if the owner has stopped before it. From any goroutine.
	Orphaned func(error)
}

// Entry is the result of Decide: the changes to commit, and what to do afterwards.
type Entry struct {
	Changes []store.Change
	Events  []messages.Event
	// Apply, which may be nil, changes the owner's state, in the owner, once Changes and Events are durable, before Reply.
	Apply func()
	// Refused, which may be nil, undoes Decide's reservations if the store refuses the changes. In the owner, before Reply.
	Refused func()
	// Takes are further records that are changed. They must be Free.
	Takes []Key
	// Claim is the number and size of the records that the transaction adds.
	Claim Claim
}

// Claim is the share of a bounded collection that a transaction in flight takes.
type Claim struct{ Count, Bytes int }

// Record is one record of a Note. Change, called in the owner when it is about to be stored, returns it as it is then.
type Record struct {
	Key    Key
	Change func() store.Change
}

// Options of a Ledger.
type Options struct {
	Store store.Store
	// Tell sends the owner a message, an Answer. It is called from any goroutine.
	Tell func(msg any)
	// After sends the owner a message, a Due, after a time.
	After func(d time.Duration, msg any)
	// Publish receives events once they are durable. It may be nil and is called from any goroutine.
	Publish func(messages.Event)
	// EventsDropped, which may be nil, counts the events of notes that were dropped.
	EventsDropped func(n int)
	// Log receives the errors of the store.
	Log *zerolog.Logger
	// Stopped is the error of transactions that the owner does not complete because it stops.
	Stopped error
}

const (
	// waitingMax is the default of Transaction.WaitingMax.
	waitingMax = 16
	// EventsMax bounds the waiting events of one key, which an outage of the store would let grow.
	EventsMax = 4096
	// retryMin is the shortest pause of a refused note, twice that the longest: random, because many may be refused at once.
	retryMin = 2 * time.Second
)

// Ledger orders the changes of one actor. Only that actor may call its methods.
type Ledger struct {
	o       Options
	states  map[Key]*keyState
	claims  map[store.Kind]Claim
	stopped bool
}

// New returns a Ledger of an actor.
func New(o Options) *Ledger {
	return &Ledger{o: o, states: make(map[Key]*keyState), claims: make(map[store.Kind]Claim)}
}

// keyState is the pending work of one key.
type keyState struct {
	queue      []*pending // in the order of Do; those that have begun come first
	noted      noted
	noting     bool // a commit of notes alone is in flight
	backingOff bool // a note was refused, and is retried later
	discarded  bool // notes in flight are not retried
}

type pending struct {
	Transaction
	entry Entry
	begun bool
}

// changes reports whether a transaction changes the record, as opposed to changes using it.
func (p *pending) changes(k Key) bool {
	return !slices.Contains(p.Uses, k)
}

// batch is one commit.
type batch struct {
	l     *Ledger
	p     *pending // nil: notes alone
	notes []part
}

type part struct {
	key Key
	noted
}

// Answer is the store's answer to one commit. The owner passes it to Answered.
type Answer struct {
	b   *batch
	err error
}

// Due says that a note is due for another attempt. The owner passes it to TryAgain.
type Due struct{ key Key }

// Do starts a transaction, or queues it behind earlier ones.
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

// Waiting returns how many transactions of a key wait for others.
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

// Free reports whether a key has nothing queued or in flight.
func (l *Ledger) Free(k Key) bool { return l.states[k] == nil }

// Claimed returns the claims of the transactions in flight on the records of a kind.
func (l *Ledger) Claimed(kind store.Kind) Claim { return l.claims[kind] }

// Note stores, with retries, what has already happened. A later note replaces an earlier one of the same record.
func (l *Ledger) Note(k Key, events []messages.Event, records ...Record) {
	if l.stopped || len(events)+len(records) == 0 {
		return
	}
	l.countDropped(l.state(k).noted.add(events, records))
	l.advance(k)
}

// Discard drops the notes of a key whose record is about to be deleted.
func (l *Ledger) Discard(k Key) {
	if ks := l.states[k]; ks != nil {
		ks.noted, ks.discarded = noted{}, ks.noting || ks.changing(k)
		l.advance(k)
	}
}

// CommitAsync stores changes, in the order of all commits, without waiting for the result:
// for what the next start repeats if it is refused, such as deletions.
func (l *Ledger) CommitAsync(changes ...store.Change) {
	log := l.o.Log
	l.o.Store.Commit(changes, func(err error) {
		if err != nil {
			log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		}
	})
}

// Stop refuses the queued transactions. With last, it tries once more to store the notes, except of records with
// a change in flight, which the note's record does not have and would overwrite. The owner calls it as it stops.
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

// OnDeadLetter implements stage.DeadLetter: the owner has stopped.
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

// complete ends a transaction that was in flight.
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
		err = NotStored()
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

// advance starts the transactions of a key that are ready.
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

// changing reports whether a transaction in flight changes the record.
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

// begin calls a transaction's Decide and commits its entry.
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

// commit sends a batch to the store, notes first.
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

// backOff schedules another attempt for the notes of a key.
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

// keys returns all records of a transaction.
func (p *pending) keys() []Key {
	return slices.Concat([]Key{p.Key}, p.Uses, p.entry.Takes)
}

func (p *pending) reply(err error) {
	if p.Reply != nil {
		p.Reply(err)
	}
}

// NotStored returns the error of a change that the store has refused.
func NotStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}

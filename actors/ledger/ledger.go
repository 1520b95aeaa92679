package ledger

import (
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
	// Most is how many transactions of Key may wait; 0: 16.
	Most int
	// Decide checks the request against the owner's state and says what to store. It is called
	// in the owner, maybe before Do returns, and must change nothing that is shown.
	Decide func() (Entry, error)
	// Reply, which may be nil, gets the outcome, once and from any goroutine.
	Reply func(error)
	// Orphaned, which may be nil, is called before Reply if the owner has stopped before
	// the store's answer, with that answer. It is called from any goroutine.
	Orphaned func(error)
}

// Entry is the decision of a Transaction.
type Entry struct {
	Changes []store.Change
	Events  []messages.Event
	// Apply changes the owner's state, and brings about what follows from that. It is
	// called in the owner once Changes and Events are durable, before Reply.
	Apply func()
	// Refused, which may be nil, gives back what Decide has reserved. It is called in the
	// owner, before Reply.
	Refused func()
	// Takes are further records that are changed. They must be Free.
	Takes []Key
	// Claim is what the transaction adds to the records of its kind.
	Claim Claim
}

// Claim is the share of a bounded collection that a transaction takes.
type Claim struct{ Count, Bytes int }

// Record is a part of a Note. Change is called in the owner when the record is about to
// be stored: it returns the record as it is then.
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
	// Leave takes events that are durable. It may be nil and is called from any goroutine.
	Leave func(messages.Event)
	// Lost counts events of notes that were dropped; nil: nobody counts.
	Lost func(n int)
	// Log is told what the store has refused.
	Log *zerolog.Logger
	// Stopped is the answer of an owner that stops.
	Stopped error
}

const (
	// waitingMost is how many transactions of a key may wait.
	waitingMost = 16
	// EventsMax is how many events of one key may wait. During a long outage players may
	// come and go as they like.
	EventsMax = 4096
	// againMin is when a note that was refused is tried again, about: spread, because
	// there may be many.
	againMin = 2 * time.Second
)

// Ledger orders the changes of one actor. Only that actor may call its methods.
type Ledger struct {
	o       Options
	lines   map[Key]*line
	claims  map[store.Kind]Claim
	stopped bool
}

// New returns a Ledger of an actor.
func New(o Options) *Ledger {
	return &Ledger{o: o, lines: make(map[Key]*line), claims: make(map[store.Kind]Claim)}
}

// line is the pending work of one key.
type line struct {
	queue   []*pending // in the order of Do; first those that have begun
	noted   noted
	noting  bool // a commit of notes alone is on its way
	resting bool // a note was refused, and is tried again later
	forget  bool // notes on their way are not to be tried again
}

// pending is a transaction that is not complete yet.
type pending struct {
	Transaction
	entry Entry
	begun bool
}

// only reports whether a transaction changes the record, as opposed to only using it.
func (p *pending) only(k Key) bool {
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
	most := t.Most
	if most == 0 {
		most = waitingMost
	}
	for _, k := range p.keys() {
		if l.Waiting(k) >= most {
			p.reply(messages.Errorf(messages.Conflict, "%d changes of %s wait for the store already: try again", most, k))
			return
		}
	}
	for _, k := range p.keys() {
		ln := l.line(k)
		ln.queue = append(ln.queue, p)
	}
	l.advance(t.Key)
}

// Waiting is how many transactions of a key wait for others.
func (l *Ledger) Waiting(k Key) (n int) {
	if ln := l.lines[k]; ln != nil {
		for _, p := range ln.queue {
			if !p.begun {
				n++
			}
		}
	}
	return n
}

// Free reports whether a key has nothing queued or in flight.
func (l *Ledger) Free(k Key) bool { return l.lines[k] == nil }

// Claimed returns the claims of the transactions in flight on the records of a kind.
func (l *Ledger) Claimed(kind store.Kind) Claim { return l.claims[kind] }

// Note stores something that has already happened, and retries until it is stored. Of several
// notes of one record the last counts.
func (l *Ledger) Note(k Key, events []messages.Event, records ...Record) {
	if l.stopped || len(events)+len(records) == 0 {
		return
	}
	l.lose(l.line(k).noted.add(events, records))
	l.advance(k)
}

// Discard drops the notes of a key whose record is about to be deleted.
func (l *Ledger) Discard(k Key) {
	if ln := l.lines[k]; ln != nil {
		ln.noted, ln.forget = noted{}, ln.noting || ln.changing(k)
		l.advance(k)
	}
}

// Forget stores changes without waiting for the result. The next start would make them again:
// deletions of old records, for example. They are ordered after all earlier commits and before
// all later ones.
func (l *Ledger) Forget(changes ...store.Change) {
	log := l.o.Log
	l.o.Store.Commit(changes, func(err error) {
		if err != nil {
			log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		}
	})
}

// Stop refuses the queued transactions. With last, it stores the notes once more, in case the
// store works again, except for records with a change in flight: that change can no longer be
// applied, and the note would be overwritten. The owner calls Stop as it stops.
func (l *Ledger) Stop(last bool) {
	l.stopped = true
	for k, ln := range l.lines {
		for _, p := range ln.queue {
			if !p.begun && p.Key == k {
				p.reply(l.o.Stopped)
			}
		}
		if last && !ln.noted.empty() && !ln.changing(k) {
			l.commit(&batch{l: l, notes: []part{{k, ln.noted}}})
		}
	}
	clear(l.lines)
}

// Answered handles the result of a commit.
func (l *Ledger) Answered(a Answer) {
	if l.stopped {
		a.OnDeadLetter()
		return
	}
	b := a.b
	for _, n := range b.notes {
		ln := l.lines[n.key]
		ln.noting = false
		switch {
		case a.err == nil:
			l.leave(n.events)
		case !ln.forget:
			l.lose(ln.noted.before(n.noted))
			l.rest(n.key, ln)
		}
		ln.forget = false
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
			l.leave(n.events)
		}
	}
	if p == nil {
		return
	}
	if a.err == nil {
		l.leave(p.entry.Events)
	}
	if p.Orphaned != nil {
		p.Orphaned(a.err)
	}
	p.reply(l.o.Stopped)
}

// TryAgain commits a note again.
func (l *Ledger) TryAgain(d Due) {
	if ln := l.lines[d.key]; ln != nil {
		ln.resting = false
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
		l.leave(p.entry.Events)
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

// end removes a transaction and starts those that waited for it.
func (l *Ledger) end(p *pending, err error) {
	keys := p.keys()
	for _, k := range keys {
		ln := l.lines[k]
		ln.queue = slices.DeleteFunc(ln.queue, func(o *pending) bool { return o == p })
		ln.forget = ln.forget && ln.noting
	}
	p.reply(err)
	for _, k := range keys {
		l.advance(k)
	}
}

// advance starts the transactions of a key that are ready.
func (l *Ledger) advance(k Key) {
	for {
		ln := l.lines[k]
		if ln == nil || l.stopped {
			return
		}
		p := ln.next()
		if p == nil || !l.ready(p) {
			break
		}
		l.begin(p)
	}
	ln := l.lines[k]
	if !ln.noted.empty() && !ln.noting && !ln.resting && !ln.changing(k) {
		b := &batch{l: l, notes: []part{{k, ln.takeNoted()}}}
		ln.noting = true
		l.commit(b)
		return
	}
	if len(ln.queue) == 0 && ln.noted.empty() && !ln.noting {
		delete(l.lines, k)
	}
}

// next returns the first transaction that has not started, nil if there is none.
func (ln *line) next() *pending {
	for _, p := range ln.queue {
		if !p.begun {
			return p
		}
	}
	return nil
}

// changing reports whether a transaction in flight changes the record.
func (ln *line) changing(k Key) bool {
	return len(ln.queue) > 0 && ln.queue[0].begun && ln.queue[0].only(k)
}

// ready reports whether a transaction has nothing to wait for.
func (l *Ledger) ready(p *pending) bool {
	for _, k := range p.keys() {
		ln := l.lines[k]
		if p.only(k) && (ln.noting || ln.queue[0] != p) {
			return false
		}
		for _, o := range ln.queue {
			if o == p {
				break
			}
			if o.only(k) {
				return false
			}
		}
	}
	return true
}

// begin lets a transaction decide and commits its entry.
func (l *Ledger) begin(p *pending) {
	p.begun = true
	entry, err := p.Decide()
	if err != nil {
		l.end(p, err)
		return
	}
	p.entry = entry
	for _, k := range entry.Takes {
		ln := l.line(k)
		ln.queue = append(ln.queue, p)
	}
	l.claim(p, 1)
	b := &batch{l: l, p: p}
	for _, k := range p.keys() {
		if ln := l.lines[k]; p.only(k) && !ln.noted.empty() {
			b.notes = append(b.notes, part{k, ln.takeNoted()})
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

// rest schedules another attempt for a line.
func (l *Ledger) rest(k Key, ln *line) {
	if !ln.resting {
		ln.resting = true
		l.o.After(againMin+rand.N(againMin), Due{k})
	}
}

func (l *Ledger) leave(events []messages.Event) {
	if l.o.Leave == nil {
		return
	}
	for _, e := range events {
		l.o.Leave(e)
	}
}

func (l *Ledger) lose(n int) {
	if n == 0 {
		return
	}
	l.o.Log.Error().Int("events", n).Msg("too many events wait for the store: the oldest are lost")
	if l.o.Lost != nil {
		l.o.Lost(n)
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

func (l *Ledger) line(k Key) *line {
	ln := l.lines[k]
	if ln == nil {
		ln = new(line)
		l.lines[k] = ln
	}
	return ln
}

// keys returns all records of a transaction.
func (p *pending) keys() []Key {
	if len(p.Uses)+len(p.entry.Takes) == 0 {
		return []Key{p.Key}
	}
	keys := make([]Key, 0, 1+len(p.Uses)+len(p.entry.Takes))
	return append(append(append(keys, p.Key), p.Uses...), p.entry.Takes...)
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

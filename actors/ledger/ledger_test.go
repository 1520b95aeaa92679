package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"troupe/actors/ledger"
	"troupe/actors/store"
	"troupe/messages"
)

// world is an owner with a ledger and a store. The test chooses each next step. Each key has one record of the form
// "value/count". A transaction sets the value, and a note increments the count.
type world struct {
	t     *rapid.T
	disk  *disk
	owner *owner
	made  int // number of transactions, used to number their values

	all       []*change
	counted   map[ledger.Key]int // the counts with which this owner started
	published map[string]bool    // the published events of all owners
}

// disk is a store whose answers the test chooses.
type disk struct {
	store.Store
	w       *world
	waiting []commit
	busy    bool // commits are refused at once
	records map[ledger.Key]string
	events  []string // in the order in which they became durable
	values  map[ledger.Key][]string
}

type commit struct {
	changes []store.Change
	done    func(error)
}

// owner is one incarnation of an actor.
type owner struct {
	w         *world
	ledger    *ledger.Ledger
	inbox     []any
	dead      bool
	shown     map[ledger.Key]string // visible values
	count     map[ledger.Key]int
	published []string
	using     map[ledger.Key]int
}

// change is one transaction.
type change struct {
	by       *owner
	key      ledger.Key
	uses     []ledger.Key
	value    string
	refuse   bool // Decide refuses the transaction
	overflow bool
	saw      map[ledger.Key]string
	decided  bool
	durable  bool
	applied  bool
	orphan   bool
	replies  []error
}

var (
	errRefused  = errors.New("refused by Decide")
	errStopping = errors.New("stopping")
	errDisk     = errors.New("refused by the store")
)

func (d *disk) Commit(changes []store.Change, done func(error)) {
	if d.busy {
		done(errDisk)
		return
	}
	d.waiting = append(d.waiting, commit{changes, done})
}

// write makes the first waiting commit durable.
func (d *disk) write() {
	c := d.waiting[0]
	d.waiting = d.waiting[1:]
	for _, ch := range c.changes {
		k := ledger.Key{Kind: ch.Kind, ID: ch.ID}
		if ch.Kind == store.Event {
			d.events = append(d.events, ch.ID)
			continue
		}
		d.w.check(k, d.records[k], string(ch.Value))
		d.records[k] = string(ch.Value)
	}
	d.w.together()
	c.done(nil)
}

// refuse refuses the first n waiting commits.
func (d *disk) refuse(n int) {
	refused := d.waiting[:n:n]
	d.waiting = d.waiting[n:]
	for _, c := range refused {
		c.done(errDisk)
	}
}

func split(record string) (value string, count int) {
	value, text, _ := strings.Cut(record, "/")
	count, _ = strconv.Atoi(text)
	return value, count
}

// check compares a written record with the previous one.
func (w *world) check(k ledger.Key, old, now string) {
	was, before := split(old)
	value, count := split(now)
	if count < before {
		w.t.Fatalf("%v: a stored note is lost: %q becomes %q", k, old, now)
	}
	if value == was {
		return
	}
	for _, c := range w.all {
		if c.key == k && c.value == value {
			if c.durable || len(c.replies) > 0 && !c.orphan {
				w.t.Fatalf("%v: %q is stored again, or after it was answered", k, value)
			}
			c.durable = true
			w.disk.values[k] = append(w.disk.values[k], value)
			return
		}
	}
	w.t.Fatalf("%v: no transaction wrote %q", k, now)
}

// begin starts an owner from the records in the store.
func (w *world) begin() {
	o := &owner{w: w, shown: map[ledger.Key]string{}, count: map[ledger.Key]int{}, using: map[ledger.Key]int{}}
	for k, r := range w.disk.records {
		o.shown[k], o.count[k] = split(r)
	}
	log := zerolog.Nop()
	o.ledger = ledger.New(ledger.Options{
		Store: w.disk, Log: &log, Stopped: errStopping,
		Tell: func(msg any) {
			if o.dead {
				msg.(ledger.Answer).OnDeadLetter()
				return
			}
			o.inbox = append(o.inbox, msg)
		},
		After: func(_ time.Duration, msg any) { o.inbox = append(o.inbox, msg) },
		Publish: func(e messages.Event) {
			if !slices.Contains(w.disk.events, e.ID) {
				w.t.Fatalf("the event %s is published before it is durable", e.ID)
			}
			o.published, w.published[e.ID] = append(o.published, e.ID), true
		},
	})
	w.owner, w.counted = o, maps.Clone(o.count)
}

// do starts a transaction.
func (w *world) do(key ledger.Key, uses []ledger.Key, refuse bool) *change {
	o := w.owner
	w.made++
	c := &change{by: o, key: key, uses: uses, value: fmt.Sprint("v", w.made), refuse: refuse, saw: map[ledger.Key]string{}}
	w.all = append(w.all, c)
	o.ledger.Do(ledger.Transaction{
		Key: key, Uses: uses, Decide: func() (ledger.Entry, error) { return c.decide() },
		Orphaned: func(err error) {
			if c.orphan = true; (err == nil) != c.durable {
				w.t.Fatalf("%s is orphaned with %v", c.value, err)
			}
		},
		Reply: func(err error) {
			if c.replies = append(c.replies, err); len(c.replies) > 1 {
				w.t.Fatalf("%s is answered again: %v", c.value, c.replies)
			}
			c.overflow = errors.Is(err, &messages.Error{Code: messages.Conflict})
			if (err == nil) != c.applied || c.applied && !c.durable {
				w.t.Fatalf("%s is answered with %v: %+v", c.value, err, c)
			}
		},
	})
	return c
}

func (c *change) decide() (ledger.Entry, error) {
	o, w := c.by, c.by.w
	for _, other := range w.all {
		if other == c {
			break
		}
		if other.by == o && len(other.replies) == 0 && (other.key == c.key || slices.Contains(other.uses, c.key)) {
			w.t.Fatalf("%s is decided before %s is complete", c.value, other.value)
		}
	}
	if o.using[c.key] > 0 {
		w.t.Fatalf("%s changes a record that others use", c.value)
	}
	c.decided = true
	if c.refuse {
		return ledger.Entry{}, errRefused
	}
	for _, k := range c.uses {
		c.saw[k] = o.shown[k]
		o.using[k]++
	}
	done := func() {
		for _, k := range c.uses {
			if o.using[k]--; o.shown[k] != c.saw[k] {
				w.t.Fatalf("%s is used by %s and changes", k.ID, c.value)
			}
		}
	}
	return ledger.Entry{
		Changes: []store.Change{{Kind: c.key.Kind, ID: c.key.ID, Value: fmt.Appendf(nil, "%s/%d", c.value, o.count[c.key])}},
		Events:  []messages.Event{{ID: event(c.key, c.value)}},
		Claim:   ledger.Claim{Count: 1, Bytes: 10},
		Refused: done,
		Apply: func() {
			if done(); !c.durable || o.dead {
				w.t.Fatalf("%s is applied, and is not durable", c.value)
			}
			c.applied = true
			o.shown[c.key] = c.value
		},
	}, nil
}

func event(k ledger.Key, what string) string { return k.ID + " " + what }

// note increments the count of a key and adds a note for it.
func (w *world) note(k ledger.Key) {
	o := w.owner
	o.count[k]++
	o.ledger.Note(k, []messages.Event{{ID: event(k, fmt.Sprint("n", o.count[k]))}}, ledger.Record{Key: k, Change: func() store.Change {
		return store.Change{Kind: k.Kind, ID: k.ID, Value: fmt.Appendf(nil, "%s/%d", o.shown[k], o.count[k])}
	}})
}

// receive delivers the next message to the owner.
func (w *world) receive() {
	o := w.owner
	msg := o.inbox[0]
	o.inbox = o.inbox[1:]
	switch m := msg.(type) {
	case ledger.Answer:
		o.ledger.Answered(m)
	case ledger.Due:
		o.ledger.TryAgain(m)
	}
}

// die ends the owner. If last is true, the owner stops in an orderly way; otherwise it crashes.
func (w *world) die(last bool) {
	o := w.owner
	if last { // a note that is refused from now on is lost together with its events (see doc.go)
		for range len(o.inbox) {
			w.receive()
		}
		for w.disk.busy && len(o.inbox) > 0 { // handle the messages that the loop above has caused
			w.disk.busy = false
			w.receive()
		}
	}
	o.dead = true
	if last {
		o.ledger.Stop(true)
	}
	for _, msg := range o.inbox {
		if a, ok := msg.(ledger.Answer); ok {
			a.OnDeadLetter()
		}
	}
	o.inbox = nil
	for len(w.disk.waiting) > 0 {
		if rapid.IntRange(0, 2).Draw(w.t, "written") > 0 {
			w.disk.write()
		} else { // refuse all of them, as Store.Commit guarantees
			w.disk.refuse(len(w.disk.waiting))
		}
	}
	if last {
		for _, c := range w.all {
			if c.by == o && len(c.replies) != 1 {
				w.t.Fatalf("%s is not answered", c.value)
			}
		}
	}
	w.ordered()
	for _, id := range w.disk.events {
		if !w.published[id] {
			w.t.Fatalf("%s is durable, and was not published", id)
		}
	}
}

// invariants checks what must hold after each step.
func (w *world) invariants() {
	o := w.owner
	for k, shown := range o.shown {
		if shown != "" && !slices.Contains(w.disk.values[k], shown) {
			w.t.Fatalf("%v is shown as %q, which is not durable", k, shown)
		}
	}
}

// ordered checks that the store contains the changes in the order of their requests.
func (w *world) ordered() {
	for k, values := range w.disk.values {
		at := 0
		for _, v := range values {
			n, _ := strconv.Atoi(v[1:])
			if n < at {
				w.t.Fatalf("%v: the order of changes is %v", k, values)
			}
			at = n
		}
		if got, _ := split(w.disk.records[k]); got != values[len(values)-1] {
			w.t.Fatalf("%v: %s is lost: %s", k, values[len(values)-1], w.disk.records[k])
		}
	}
}

// together checks that the store contains a change if and only if it contains its event.
func (w *world) together() {
	seen := map[string]bool{}
	for _, id := range w.disk.events {
		if seen[id] {
			w.t.Fatalf("%s is stored twice", id)
		}
		seen[id] = true
	}
	for k, r := range w.disk.records {
		_, count := split(r)
		for n := 1; n <= count; n++ {
			if !seen[event(k, fmt.Sprint("n", n))] {
				w.t.Fatalf("%v has %d, and no event of n%d", k, count, n)
			}
		}
	}
	for _, c := range w.all {
		if seen[event(c.key, c.value)] != c.durable {
			w.t.Fatalf("%s: durable %v, its event %v", c.value, c.durable, !c.durable)
		}
	}
}

// drainStore completes all commits and messages and checks the final state.
func (w *world) drainStore() {
	o := w.owner
	w.disk.busy = false
	for len(w.disk.waiting)+len(o.inbox) > 0 {
		if len(w.disk.waiting) > 0 {
			w.disk.write()
		} else {
			w.receive()
		}
		w.invariants()
	}
	w.ordered()
	numbers := map[ledger.Key]int{}
	for k := range o.count {
		if got, want := w.disk.records[k], fmt.Sprintf("%s/%d", o.shown[k], o.count[k]); got != want && want != "/0" {
			w.t.Fatalf("%v is stored as %q and shown as %q", k, got, want)
		}
		for n := w.counted[k] + 1; n <= o.count[k]; n++ {
			if !slices.Contains(o.published, event(k, fmt.Sprint("n", n))) {
				w.t.Fatalf("%v: n%d is not published: %v", k, n, o.published)
			}
		}
	}
	for i, id := range o.published {
		if slices.Contains(o.published[:i], id) {
			w.t.Fatalf("%s was published twice", id)
		}
		name, what, _ := strings.Cut(id, " ")
		if n, _ := strconv.Atoi(what[1:]); what[0] == 'n' {
			k := ledger.Key{Kind: store.Alias, ID: name}
			if n < numbers[k] {
				w.t.Fatalf("%v: the order of events is %v", k, o.published)
			}
			numbers[k] = n
		}
	}
	for _, c := range w.all {
		if c.by != o {
			continue
		}
		if len(c.replies) != 1 || (c.replies[0] == nil) != c.durable {
			w.t.Fatalf("%s: durable %v, answered with %v", c.value, c.durable, c.replies)
		}
		if c.durable && !slices.Contains(o.published, event(c.key, c.value)) {
			w.t.Fatalf("the event of %s is not published", c.value)
		}
		if !c.decided && !c.overflow {
			w.t.Fatalf("%s was never decided", c.value)
		}
	}
	if got := o.ledger.Claimed(store.Alias); got != (ledger.Claim{}) {
		w.t.Fatalf("%v is claimed", got)
	}
	for _, k := range keys {
		if !o.ledger.Free(k) {
			w.t.Fatalf("%v is not free", k)
		}
	}
}

var keys = []ledger.Key{{Kind: store.Alias, ID: "a"}, {Kind: store.Alias, ID: "b"}, {Kind: store.Alias, ID: "c"}}

// The test performs transactions, notes, refusals and deaths of the owner in any order. Visible state must be durable,
// changes and events must keep their order, and the store must contain either both a change and its event or neither.
func TestVisibleStateIsDurable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, published: map[string]bool{}}
		w.disk = &disk{w: w, records: map[ledger.Key]string{}, values: map[ledger.Key][]string{}}
		w.begin()
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				k := key.Draw(t, "key")
				var uses []ledger.Key
				if u := key.Draw(t, "uses"); u != k && rapid.IntRange(0, 2).Draw(t, "used") == 0 {
					uses = append(uses, u)
				}
				w.do(k, uses, rapid.IntRange(0, 5).Draw(t, "refuse") == 0)
			},
			"note": func(t *rapid.T) { w.note(key.Draw(t, "key")) },
			"write": func(t *rapid.T) {
				if len(w.disk.waiting) > 0 {
					w.disk.write()
				}
			},
			"refuse": func(t *rapid.T) {
				if n := len(w.disk.waiting); n > 0 {
					w.disk.refuse(rapid.IntRange(1, n).Draw(t, "commits"))
				}
			},
			"busy": func(t *rapid.T) { w.disk.busy = !w.disk.busy },
			"receive": func(t *rapid.T) {
				if len(w.owner.inbox) > 0 {
					w.receive()
				}
			},
			"drain": func(t *rapid.T) { w.drainStore() },
			"die": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "really") {
					w.die(rapid.Bool().Draw(t, "in order"))
					w.begin()
				}
			},
			"": func(*rapid.T) { w.invariants() },
		})
		w.drainStore()
	})
}

// refusing is a store that refuses all changes.
type refusing struct {
	store.Store
	err error
}

func (r refusing) Commit(_ []store.Change, done func(error)) { done(r.err) }

// A store that has closed may have made the change, so the caller is told what it is told of an owner that stops. In a
// cluster it asks the next leader then.
func TestTheErrorOfARefusedChange(t *testing.T) {
	for refused, want := range map[error]error{
		fmt.Errorf("%w: this node no longer leads", store.ErrClosed): errStopping,
		store.ErrBusy: ledger.NotStored(),
	} {
		var l *ledger.Ledger
		log := zerolog.Nop()
		l = ledger.New(ledger.Options{Store: refusing{err: refused}, Tell: func(m any) { l.Answered(m.(ledger.Answer)) }, Log: &log, Stopped: errStopping})
		var replies []error
		l.Do(ledger.Transaction{Key: keys[0], Decide: func() (ledger.Entry, error) { return ledger.Entry{}, nil }, Reply: func(err error) { replies = append(replies, err) }})
		if len(replies) != 1 || replies[0].Error() != want.Error() {
			t.Errorf("%v: replies %v, want %v", refused, replies, want)
		}
	}
}

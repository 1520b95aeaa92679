package ledger

import (
	"troupe/actors/store"
	"troupe/messages"
)

// noted holds the notes of a key: the last note of each record, and all events.
type noted struct {
	records map[Key]func() store.Change
	events  []messages.Event
}

func (n *noted) empty() bool { return len(n.records)+len(n.events) == 0 }

// add adds newer notes. It returns the number of events that were dropped.
func (n *noted) add(events []messages.Event, records []Record) int {
	if n.records == nil && len(records) > 0 {
		n.records = make(map[Key]func() store.Change, len(records))
	}
	for _, r := range records {
		n.records[r.Key] = r.Change
	}
	n.events = append(n.events, events...)
	return n.bound()
}

// before inserts older notes, which the store has refused, before the newer ones. It returns the number of events that
// were dropped.
func (n *noted) before(old noted) int {
	for k, change := range n.records {
		if old.records == nil {
			old.records = make(map[Key]func() store.Change)
		}
		old.records[k] = change
	}
	n.records = old.records
	n.events = append(old.events, n.events...)
	return n.bound()
}

// bound drops the oldest events beyond EventsMax.
func (n *noted) bound() int {
	dropped := max(0, len(n.events)-EventsMax)
	n.events = n.events[dropped:]
	return dropped
}

func (ks *keyState) takeNoted() noted {
	n := ks.noted
	ks.noted = noted{}
	return n
}

// appendTo appends the changes that store the notes.
func (n *noted) appendTo(changes []store.Change) []store.Change {
	for _, change := range n.records {
		changes = append(changes, change())
	}
	return withEvents(changes, n.events)
}

func withEvents(changes []store.Change, events []messages.Event) []store.Change {
	for _, e := range events {
		changes = append(changes, store.Put(store.Event, e.ID, e))
	}
	return changes
}

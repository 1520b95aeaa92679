package events

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"troupe/messages"
)

const (
	scanPause = 100 * time.Millisecond // minimum time between two scans of the outbox
	// markPause is the minimum time between two commits that record which sinks have received an event that
	// others still wait for. A host that is killed repeats to each sink at most the events of that time.
	markPause   = time.Second
	outboxPause = time.Second // pause after an error of the outbox
)

// kept is an event in the outbox. Has is empty at first.
type kept struct {
	messages.Event
	Has []string `json:",omitempty"` // names of the sinks that have received it
}

// keep is the keeper goroutine, the only one that waits for the outbox. It writes which sinks have received
// an event, and reads events for which there is room.
func (d *deliveries) keep() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	marks := time.NewTimer(markPause)
	defer marks.Stop()
	first := true    // the first scan also deletes events to which no sink subscribes any more
	running := true  // whether marks is set and has not fired
	marking := false // whether the has entries of queued events are due to be written
	for {
		select {
		case <-d.wake:
		case <-pause.C:
		case <-marks.C:
			running, marking = false, true
		case <-d.finish:
			_ = d.writeOutbox(true)
			return
		}
		if err := d.writeOutbox(marking); err != nil {
			d.log.Error().Err(err).Msg("the outbox of events refuses")
			pause.Reset(outboxPause)
			continue
		}
		marking = false
		targets, unmarked, _ := d.due()
		if !running && unmarked {
			running = true
			marks.Reset(markPause)
		}
		if targets == 0 && !first {
			continue
		}
		if err := d.scan(targets); err != nil {
			d.log.Error().Err(err).Msg("the outbox of events cannot be read")
			pause.Reset(outboxPause)
			continue
		}
		first = false
		if targets, _, unwritten := d.due(); targets != 0 || unwritten {
			pause.Reset(scanPause)
		}
	}
}

// writeOutbox writes all unwritten items in one commit. With marks, it also writes which sinks have received
// the items that others still have queued.
func (d *deliveries) writeOutbox(marks bool) error {
	d.mu.Lock()
	items := d.unwritten
	d.unwritten = nil
	var changes []Change
	for _, i := range items {
		changes = append(changes, d.change(i))
	}
	noted := make(map[*item]sinkSet)
	if marks {
		d.unmarked = false
		for _, i := range d.items {
			if !i.unwritten && i.has != i.stored { // the outbox does not have the current value of has
				noted[i] = i.has
				changes = append(changes, d.change(i))
			}
		}
	}
	d.mu.Unlock()
	if len(changes) == 0 {
		return nil
	}
	result := make(chan error, 1)
	d.outbox.Commit(changes, func(err error) { result <- err })
	err := <-result
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.unwritten = append(items, d.unwritten...)
		return err
	}
	for i, has := range noted {
		i.stored = has
	}
	for _, i := range items {
		delete(d.items, i.event.ID)
		if !i.posted {
			d.early = append(d.early[max(0, len(d.early)+1-earlyMax):], i.event.ID)
		}
	}
	return nil
}

// change returns the change of an item in the outbox. It deletes the item, or records the sinks that have
// received it.
func (d *deliveries) change(i *item) Change {
	if i.wants&^i.has == 0 {
		return Change{ID: i.event.ID}
	}
	record := kept{Event: i.event}
	for _, s := range d.sinks {
		if i.has&s.bit != 0 {
			record.Has = append(record.Has, s.o.Name)
		}
	}
	value, err := json.Marshal(record)
	if err != nil {
		panic("events: " + err.Error()) // cannot happen: the values are plain
	}
	return Change{i.event.ID, value}
}

// due returns what the keeper has to do: roomy are the sinks that are behind and have room, and unmarked and
// unwritten say whether there is something to write.
func (d *deliveries) due() (roomy sinkSet, unmarked, unwritten bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sinks {
		if d.behind&s.bit != 0 && s.hasRoom() {
			roomy |= s.bit
		}
	}
	return roomy, d.unmarked, len(d.unwritten) > 0
}

var errFull = errors.New("full") // ends a scan when no sink has room any more

// scan reads events from the outbox into the queues of sinks that are behind. Afterwards a sink is no longer
// behind if all its events were queued, and no further event missed its queue during the scan.
func (d *deliveries) scan(targets sinkSet) error {
	d.mu.Lock()
	d.missed &^= targets
	d.mu.Unlock()
	var full sinkSet
	err := d.outbox.Load(func(id string, value []byte) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		full |= d.read(id, value, targets&^full)
		if d.closed || targets != 0 && full == targets {
			return errFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	d.mu.Lock()
	d.behind &^= targets &^ full &^ d.missed
	d.mu.Unlock()
	return nil
}

// read handles one event of the outbox. It returns the sinks whose queues are full.
func (d *deliveries) read(id string, value []byte, targets sinkSet) (full sinkSet) {
	i := d.items[id]
	if i == nil {
		i = d.decode(id, value)
	}
	if i.unwritten { // it is read again when the write is durable; later events must wait, to keep the order
		return i.left() & targets
	}
	full = d.queue(i, i.left()&targets)
	d.hold(i)
	return full
}

// decode decodes a record of the outbox. For a damaged record, it returns an item that no sink wants.
func (d *deliveries) decode(id string, value []byte) *item {
	var record kept
	if err := json.Unmarshal(value, &record); err != nil {
		d.log.Error().Err(err).Str("event", id).Msg("an event in the outbox cannot be read, it is deleted")
		return &item{event: messages.Event{ID: id}}
	}
	record.ID = id
	i := &item{event: record.Event, wants: d.wanted(&record.Event), posted: record.Time.Before(d.began)}
	for _, s := range d.sinks {
		if slices.Contains(record.Has, s.o.Name) {
			i.has |= s.bit
		}
	}
	i.stored = i.has
	return i
}

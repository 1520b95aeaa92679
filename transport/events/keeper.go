package events

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"troupe/messages"
)

const (
	scanPause = 100 * time.Millisecond // the least time between two scans of the outbox
	// markPause is the least time between two commits of events that some sinks have and others still wait for. A host that
	// is killed repeats to each sink at most what it got in that time.
	markPause   = time.Second
	outboxPause = time.Second // the wait after an error of the outbox
)

// kept is an event in the outbox. Has is empty at first.
type kept struct {
	messages.Event
	Has []string `json:",omitempty"` // names of sinks that it was delivered to
}

// keep is the keeper's goroutine, which alone waits for the outbox: it writes who has which events, and reads those there is room for.
func (d *deliveries) keep() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	marks := time.NewTimer(markPause)
	defer marks.Stop()
	first := true    // the first scan also removes events that no sink subscribes to any more
	running := true  // marks has been set and has not fired
	marking := false // marks are due
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

// writeOutbox writes all unwritten items in one commit, and with marks also who has those that others still have queued.
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
			if !i.unwritten && i.has != i.stored { // the outbox does not know yet which sinks have it
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

// change returns the change of an item in the outbox: deleted, or the sinks that have it.
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
		panic("events: " + err.Error()) // plain values
	}
	return Change{i.event.ID, value}
}

// due returns what the keeper has to do: the sinks that are behind and have room, and whether there are marks and items to write.
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

// scan reads events from the outbox into the queues of sinks that are behind. A sink is no longer behind if the scan could queue all its
// events, and no new one was left for it meanwhile.
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

// read handles one event of the outbox, and returns the sinks whose queues have no room for it.
func (d *deliveries) read(id string, value []byte, targets sinkSet) (full sinkSet) {
	i := d.items[id]
	if i == nil {
		i = d.decode(id, value)
	}
	if i.unwritten { // it is read again once that is durable; later events wait, too
		return i.left() & targets
	}
	full = d.queue(i, i.left()&targets)
	d.hold(i)
	return full
}

// decode decodes a record of the outbox. For a damaged record it returns an item that no sink wants.
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

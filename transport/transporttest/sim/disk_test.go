package sim

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/actors/fault"
	"troupe/actors/store"
)

// disk is a store in virtual time with the failures of store.SQLite. Commits take time, waiting commits are
// written together, and a failure fails all of them. The process may die at any failpoint. Durable data
// survives that.
type disk struct {
	store.Memory // the durable data

	mu      sync.Mutex
	rng     *rand.Rand
	queue   []commit
	writing bool
	sick    bool   // half of all writes and syncs fail
	point   string // failpoint at which the process dies, when hits reaches 0; "" means none
	hits    int
	dead    bool
	failed  int
}

type commit struct {
	changes []store.Change
	done    func(error)
}

var _ store.Store = (*disk)(nil)

var errDisk = errors.New("the disk fails")

func newDisk(seed uint64) *disk {
	return &disk{rng: rand.New(rand.NewPCG(seed, 0x7433))}
}

// restarted makes the disk usable by the next process.
func (d *disk) restarted() { d.set(func() { d.dead, d.sick, d.point = false, false, "" }) }

// Commit implements store.Store.
func (d *disk) Commit(changes []store.Change, done func(error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, commit{changes, done})
	d.write()
}

// write starts a write if none is running.
func (d *disk) write() {
	if !d.writing && len(d.queue) > 0 {
		d.writing = true
		time.AfterFunc(time.Duration(1+d.rng.IntN(20))*time.Millisecond, d.written)
	}
}

func (d *disk) written() {
	d.mu.Lock()
	batch := d.queue[:len(d.queue):len(d.queue)]
	err := d.at(fault.StoreWrite)
	if err == nil {
		err = d.at(fault.StoreCommit)
	}
	if err == nil {
		for _, c := range batch {
			d.Memory.Commit(c.changes, nil)
		}
		err = d.at(fault.StoreCommitted)
	} else {
		d.failed++
	}
	d.queue = nil
	d.mu.Unlock()
	for i, c := range batch {
		if err != nil {
			c = batch[len(batch)-1-i]
		}
		if c.done != nil {
			c.done(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.at(fault.StoreAnswered)
	d.writing = false
	d.write()
}

// at simulates a failpoint. After the process has died, it returns errors, so that the process can be cleaned
// up; callers never see them.
func (d *disk) at(point string) error {
	if point == d.point && !d.dead {
		if d.hits--; d.hits <= 0 {
			d.dead = true
		}
	}
	fails := point == fault.StoreWrite || point == fault.StoreCommit
	switch {
	case d.dead:
		return store.ErrClosed
	case fails && d.sick && d.rng.IntN(2) == 0:
		return errDisk
	}
	return nil
}

func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *disk) isDead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

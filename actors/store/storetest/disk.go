package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing/synctest"

	"troupe/actors/store"
)

// ErrBroken is the answer of a broken Disk.
var ErrBroken = errors.New("the disk is broken")

// Disk is a store in memory that a test can break, or hold. Methods may be called concurrently, those that wait only in a bubble.
type Disk struct {
	store.Memory
	mu     sync.Mutex
	held   bool
	queued []commit
	broken bool
	failIn int // how many commits from now one fails; 0: none does
	writes int
}

type commit struct {
	changes []store.Change
	done    func(error)
	broken  bool // when it was made
}

// Commit implements store.Store.
func (d *Disk) Commit(changes []store.Change, done func(error)) {
	d.mu.Lock()
	d.writes += len(changes)
	c := commit{changes, done, d.broken || d.failIn == 1}
	d.failIn = max(d.failIn-1, 0)
	if d.held {
		d.queued = append(d.queued, c)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	d.do(c)
}

func (d *Disk) do(c commit) {
	if !c.broken {
		d.Memory.Commit(c.changes, c.done)
	} else if c.done != nil {
		c.done(ErrBroken)
	}
}

// Break makes the disk refuse the commits that are made from now on, or mends it.
func (d *Disk) Break(broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = broken
}

// FailNth makes the disk refuse one commit, the nth from now.
func (d *Disk) FailNth(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failIn = n
}

// Hold makes commits wait.
func (d *Disk) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// Next answers the first commit that waits, and waits for what follows from that.
func (d *Disk) Next() {
	d.mu.Lock()
	first := d.queued[0]
	d.queued = d.queued[1:]
	d.mu.Unlock()
	d.do(first)
	synctest.Wait()
}

// Refuse refuses the first commit that waits, and waits for what follows from that.
func (d *Disk) Refuse() {
	d.mu.Lock()
	d.queued[0].broken = true
	d.mu.Unlock()
	d.Next()
}

// Release ends Hold: it answers the commits that wait, and waits for what follows. Commits that are refused one
// after the other are answered as the real store answers those of one transaction, the last one first.
func (d *Disk) Release() {
	d.mu.Lock()
	queued := d.queued
	d.held, d.queued = false, nil
	d.mu.Unlock()
	var refused []commit
	answer := func() {
		for _, c := range slices.Backward(refused) {
			d.do(c)
		}
		refused = nil
	}
	for _, c := range queued {
		if c.broken {
			refused = append(refused, c)
			continue
		}
		answer()
		d.do(c)
	}
	answer()
	synctest.Wait()
}

// Lose ends Hold, and drops the commits that wait, as the end of a process does.
func (d *Disk) Lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held, d.queued = false, nil
}

// Put stores a record at once, whatever the state of the disk.
func (d *Disk) Put(kind store.Kind, id string, value string) {
	d.Memory.Commit([]store.Change{{Kind: kind, ID: id, Value: []byte(value)}}, nil)
}

// Records returns the stored records of a kind by id.
func (d *Disk) Records(kind store.Kind) map[string][]byte {
	all := make(map[string][]byte)
	_, err := d.Load(kind, func(id string, value []byte) error { all[id] = value; return nil })
	if err != nil {
		panic(err)
	}
	return all
}

// Writes returns how many changes were to be stored.
func (d *Disk) Writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing/synctest"

	"troupe/actors/store"
)

// ErrBroken is the error that a broken Disk returns.
var ErrBroken = errors.New("the disk is broken")

// Disk is a store in memory. A test can make it fail or delay its commits. Its methods may be called concurrently.
// Those that wait may be called only in a synctest bubble.
type Disk struct {
	store.Memory
	mu     sync.Mutex
	held   bool
	queued []commit
	broken bool
	failIn int // the failIn-th commit from now fails; 0 means that none fails
	writes int
}

type commit struct {
	changes []store.Change
	done    func(error)
	broken  bool // the disk was broken when the commit was made
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

// Break sets whether the disk refuses commits that are made from now on.
func (d *Disk) Break(broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = broken
}

// FailNth makes the disk refuse one commit: the nth from now.
func (d *Disk) FailNth(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failIn = n
}

// Hold makes the disk delay all commits.
func (d *Disk) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// Next answers the first delayed commit and waits until the consequences have been handled.
func (d *Disk) Next() {
	d.mu.Lock()
	first := d.queued[0]
	d.queued = d.queued[1:]
	d.mu.Unlock()
	d.do(first)
	synctest.Wait()
}

// Refuse refuses the first delayed commit and waits until the consequences have been handled.
func (d *Disk) Refuse() {
	d.mu.Lock()
	d.queued[0].broken = true
	d.mu.Unlock()
	d.Next()
}

// Release ends Hold. It answers the delayed commits and waits until the consequences have been handled. Consecutive
// refused commits are answered like those of one transaction in the real store: the last one first.
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

// Lose ends Hold and drops the delayed commits, as the end of a process would.
func (d *Disk) Lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held, d.queued = false, nil
}

// Put stores a record at once, regardless of the state of the disk.
func (d *Disk) Put(kind store.Kind, id string, value string) {
	d.Memory.Commit([]store.Change{{Kind: kind, ID: id, Value: []byte(value)}}, nil)
}

// Records returns the stored records of a kind, by id.
func (d *Disk) Records(kind store.Kind) map[string][]byte {
	all := make(map[string][]byte)
	_, err := d.Load(kind, func(id string, value []byte) error { all[id] = value; return nil })
	if err != nil {
		panic(err)
	}
	return all
}

// Writes returns the number of changes passed to Commit, including refused ones.
func (d *Disk) Writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

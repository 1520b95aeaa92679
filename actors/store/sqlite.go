package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options say where a durable store is, and bound it. Zero values but Path mean the
// defaults.
type Options struct {
	// Path is the database file. It is made, with its folder, if it is not there. Beside
	// it are PATH-wal and PATH-shm, which belong to it, and PATH.lock.
	Path string
	// WaitingChanges and WaitingBytes bound what was committed and is not yet durable;
	// what is beyond is refused with ErrBusy. Defaults 65,536 and 64 MiB. One commit
	// may be larger than that while nothing else waits.
	WaitingChanges, WaitingBytes int
	// SkipDamaged takes what is damaged out of the store: a file that SQLite cannot read as
	// a whole, which Open refuses otherwise, is kept as PATH.damaged.N, and all that can be
	// read of it stays; records that are not what was written, which Load leaves out
	// otherwise, are moved to PATH.damaged. A log that is damaged before its end is refused
	// all the same.
	SkipDamaged bool
	// Log gets what the operator must know, Counters what is counted; nil: nobody does.
	Log      zerolog.Logger
	Counters *counters.Set
}

const (
	waitingChanges = 1 << 16
	waitingBytes   = 64 << 20
	// changeBytes is what a change costs beside its value.
	changeBytes = 64
)

// SQLite is a Store in one file: SQLite with a write-ahead log, synced at every commit.
// One goroutine writes; what waits for it becomes one transaction. A transaction that
// fails is refused together with all that waits behind it, so nothing durable stands on
// what is missing; what is committed later is tried again.
type SQLite struct {
	path   string
	o      Options
	log    zerolog.Logger
	count  *counters.Set
	unlock func()
	db     *sql.DB
	ended  chan struct{} // closed when the writer has ended

	writer writer // owned by the writer's goroutine

	mu        sync.Mutex
	wake      sync.Cond          // on mu: something waits, or the store closes
	committed sync.Cond          // on mu: done has grown
	damaged   map[recordKey]bool // what Load has found, until it is overwritten
	queue     []commit
	waiting   int // commits that wait or are being written, and what they hold
	changes   int
	bytes     int
	queued    uint64 // commits ever taken
	done      uint64 // of them, durable or refused, and told so
	closed    bool
}

// commit is one call of Commit.
type commit struct {
	changes []Change
	bytes   int
	at      time.Time
	done    func(error)
}

var _ Store = (*SQLite)(nil)

// Open opens the store at a path, or makes it. A store that another process has open, one
// of a newer version, a damaged one and a file that is no store are errors that name the
// file. What was being written when the last process died is there as a whole or not at all.
func Open(o Options) (s *SQLite, err error) {
	if o.WaitingChanges <= 0 {
		o.WaitingChanges = waitingChanges
	}
	if o.WaitingBytes <= 0 {
		o.WaitingBytes = waitingBytes
	}
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	path, unlock, err := claim(o.Path, identify)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	s = &SQLite{path: path, o: o, log: o.Log, count: o.Counters, unlock: unlock, ended: make(chan struct{})}
	s.wake.L, s.committed.L = &s.mu, &s.mu
	db, err := openFile(path)
	if err != nil && o.SkipDamaged && errors.Is(err, errBroken) {
		db, err = s.salvage(err)
	}
	if err != nil {
		return nil, err
	}
	s.db = db
	if o.SkipDamaged {
		if err := s.skipDamaged(); err != nil {
			return nil, errors.Join(fmt.Errorf("store: %s: %w", path, explain(err)), db.Close())
		}
	}
	if err := s.reportUnknown(); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, explain(err)), db.Close())
	}
	if err := s.writer.prepare(db); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, err), db.Close())
	}
	go s.write()
	return s, nil
}

// Load implements Store. It reads what is durable at the time of the call, and checks each
// record.
func (s *SQLite) Load(kind Kind, f func(id string, value []byte) error) ([]Damage, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	damaged, err := load(context.Background(), s.db, s.path, kind, f)
	s.remember(damaged)
	return damaged, err
}

// Commit implements Store.
func (s *SQLite) Commit(changes []Change, done func(error)) {
	c := commit{changes: changes, at: time.Now(), done: done}
	for i := range changes {
		c.bytes += changeBytes + len(changes[i].ID) + len(changes[i].Value)
	}
	if err := s.enqueue(c); err != nil {
		if errors.Is(err, ErrBusy) {
			s.count.StoreRefused.Add(counters.StoreBusy, 1)
		}
		c.tell(err)
	}
}

func (c *commit) tell(err error) {
	if c.done != nil {
		c.done(err)
	}
}

func (s *SQLite) enqueue(c commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.waiting > 0 && (s.changes+len(c.changes) > s.o.WaitingChanges || s.bytes+c.bytes > s.o.WaitingBytes) {
		return ErrBusy
	}
	s.queue = append(s.queue, c)
	s.waiting++
	s.changes += len(c.changes)
	s.bytes += c.bytes
	s.queued++
	s.wake.Signal()
	return nil
}

// Flush implements Store. It must not be called by done.
func (s *SQLite) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for upTo := s.queued; s.done < upTo; {
		s.committed.Wait()
	}
}

// Close implements Store. It must not be called by done.
func (s *SQLite) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.wake.Signal()
	s.mu.Unlock()
	<-s.ended
	if again {
		return nil
	}
	err := errors.Join(s.writer.close(), s.db.Close())
	s.unlock()
	if err != nil {
		return fmt.Errorf("store: %s: %w", s.path, err)
	}
	return nil
}

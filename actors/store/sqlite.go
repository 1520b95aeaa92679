package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options are the path and the bounds of a durable store. Zero values mean the defaults; Path is required.
type Options struct {
	// Path is the database file, made with its folder if absent. Beside it are SQLite's PATH-wal and PATH-shm, and PATH.lock.
	Path string
	// WaitingChanges and WaitingBytes bound the commits that are not durable yet; more are refused with ErrBusy. Defaults: 65,536 and
	// 64 MiB. A single commit may be larger while no other waits.
	WaitingChanges, WaitingBytes int
	// SkipDamaged removes damage from the store. A file that SQLite cannot read completely, which Open otherwise refuses, is renamed
	// to PATH.damaged.N, and its readable records are copied to a new store. Records with a wrong checksum, which Load otherwise
	// leaves out, are moved to PATH.damaged. A log that is damaged before its end is refused all the same.
	SkipDamaged bool
	// Log receives messages for the operator.
	Log      zerolog.Logger
	Counters *counters.Set // counts commits and damaged records; may be nil
}

const changeBytes = 64 // the estimated memory of a change beside its id and value

// SQLite is a Store in one file: SQLite with a write-ahead log, synced at every transaction. One goroutine writes; the commits that
// wait for it share one transaction. If that fails, all waiting commits are refused, because they may depend on it.
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
	wake      sync.Cond          // on mu: a commit waits, or the store closes
	committed sync.Cond          // on mu: answered has grown
	damaged   map[recordKey]bool // records that Load has found damaged, until they are overwritten
	queue     []commit
	waiting   int    // commits in queue or being written
	changes   int    // of these
	bytes     int    // of these
	queued    uint64 // commits so far
	answered  uint64 // commits that are durable or refused, after the call of done
	closed    bool
	probe     *time.Timer // runs while the last transaction failed: then probing is set, and the writer is woken; nil before the first failure
	probing   bool
}

type commit struct {
	changes []Change
	bytes   int
	at      time.Time
	done    func(error)
}

var _ Store = (*SQLite)(nil)

// Open opens the store at a path, or creates it. A store that another process has open, one of a newer version, a damaged one and a
// file that is not a store are errors that name the file.
func Open(o Options) (s *SQLite, err error) {
	o.WaitingChanges, o.WaitingBytes = cmp.Or(o.WaitingChanges, 1<<16), cmp.Or(o.WaitingBytes, 64<<20)
	o.Counters = cmp.Or(o.Counters, new(counters.Set))
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
		err = s.skipDamaged()
	}
	if err == nil {
		err = s.reportUnknown()
	}
	if err == nil {
		err = s.writer.prepare(db)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, explain(err)), db.Close())
	}
	go s.write()
	return s, nil
}

// Load implements Store. It reads the records that are durable at the time of the call, and verifies their checksums.
func (s *SQLite) Load(kind Kind, f func(id string, value []byte) error) ([]Damage, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	damaged, err := load(context.Background(), s.db, s.path, kind, f)
	s.addDamaged(damaged)
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
		c.answer(err)
	}
}

func (c *commit) answer(err error) {
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
	for upTo := s.queued; s.answered < upTo; {
		s.committed.Wait()
	}
}

// Close implements Store. It must not be called by done.
func (s *SQLite) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	if s.probe != nil {
		s.probe.Stop()
	}
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

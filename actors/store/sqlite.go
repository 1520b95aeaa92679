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

// Options are the path and the limits of a durable store. Path is required. Other zero values mean the defaults.
type Options struct {
	// Path is the database file. It is created, together with its folder, if it does not exist. Next to it are the
	// files PATH-wal and PATH-shm of SQLite, and PATH.lock.
	Path string
	// WaitingChanges and WaitingBytes limit the commits that are not durable yet. Further commits are refused with
	// ErrBusy. The defaults are 65,536 and 64 MiB. A single commit may exceed the limits if no other commit is waiting.
	WaitingChanges, WaitingBytes int
	// SkipDamaged removes damage from the store. It affects two cases. First, if SQLite cannot read the file
	// completely, Open would normally refuse it; with SkipDamaged, Open renames it to PATH.damaged.N and copies the
	// readable records to a new store. Second, Load would normally skip records with a wrong checksum; with
	// SkipDamaged, they are moved to PATH.damaged. A log that is damaged before its end is refused in any case.
	SkipDamaged bool
	// Log receives messages for the operator.
	Log      zerolog.Logger
	Counters *counters.Set // counts commits and damaged records; may be nil
}

const changeBytes = 64 // estimated memory of a change in addition to its id and value

// SQLite is a Store in one file. It uses SQLite with a write-ahead log and syncs every transaction. A single goroutine
// writes. Commits that wait for it share one transaction. If a transaction fails, all waiting commits are refused too,
// because they may depend on it.
type SQLite struct {
	path   string
	o      Options
	log    zerolog.Logger
	count  *counters.Set
	unlock func()
	db     *sql.DB
	ended  chan struct{} // closed when the writer goroutine has ended

	writer writer // owned by the writer goroutine

	mu        sync.Mutex
	wake      sync.Cond          // on mu: a commit is waiting, or the store is closing
	committed sync.Cond          // on mu: answered has increased
	damaged   map[recordKey]bool // records that Load has found damaged and that have not been overwritten
	queue     []commit
	waiting   int    // number of commits that are queued or being written
	changes   int    // number of changes in these commits
	bytes     int    // size of these commits
	queued    uint64 // total number of commits so far
	answered  uint64 // number of commits that are durable or refused and whose done has returned
	closed    bool
	// Runs while the last transaction failed. When it fires, it sets probing and wakes the writer. It is nil before the
	// first failure.
	probe   *time.Timer
	probing bool
}

type commit struct {
	changes []Change
	bytes   int
	at      time.Time
	done    func(error)
}

var _ Store = (*SQLite)(nil)

// Open opens or creates the store at a path. It returns an error that names the file if another process has the store
// open, if the store has a newer version or is damaged, or if the file is not a store.
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

// Load implements Store. It reads the records that are durable at the time of the call and verifies their checksums.
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

// Flush implements Store. A done function must not call it.
func (s *SQLite) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for upTo := s.queued; s.answered < upTo; {
		s.committed.Wait()
	}
}

// Close implements Store. A done function must not call it.
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

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/actors/fault"
	"troupe/messages/counters"
)

const (
	checkpointPages = 1000 // length of the log, in pages, from which it is checkpointed into the database
	// batchBytes limits the size of one transaction, because all its commits wait for its end. A single larger commit
	// gets its own transaction.
	batchBytes = 16 << 20
)

// probeEvery is how long a store that could not write waits for a commit before it tries to write anyway. This is
// necessary because a host is not ready while its store fails, and then gets no requests that would commit anything. It
// is a variable for tests.
var probeEvery = 5 * time.Second

type writer struct {
	conn     *sql.Conn
	put, del *sql.Stmt
	failing  bool
}

func (w *writer) prepare(db *sql.DB) (err error) {
	ctx := context.Background()
	if w.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	if w.put, err = w.conn.PrepareContext(ctx, putRecord); err != nil {
		return err
	}
	w.del, err = w.conn.PrepareContext(ctx, deleteRecord)
	return err
}

func (w *writer) close() error { return errors.Join(w.put.Close(), w.del.Close(), w.conn.Close()) }

// write is the writer goroutine. It writes until the store is closed and no commit is waiting.
func (s *SQLite) write() {
	defer close(s.ended)
	for {
		batch := s.take()
		if batch == nil {
			return
		}
		err := s.writeBatch(batch)
		s.report(err)
		if len(batch) == 0 {
			continue
		}
		if err != nil {
			batch = append(batch, s.takeAll()...)
		}
		s.answer(batch, err)
		_ = fault.Hit(fault.StoreAnswered)
		if err == nil {
			s.checkpoint()
		}
	}
}

// take waits for commits and returns those for the next transaction. It returns an empty slice to request a probe, and
// nil if the store is closed and no commit is left.
func (s *SQLite) take() []commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 {
		if s.closed {
			return nil
		}
		if s.probing {
			s.probing = false
			return []commit{}
		}
		s.wake.Wait()
	}
	n, bytes := 0, 0
	for n < len(s.queue) && (n == 0 || bytes+s.queue[n].bytes <= batchBytes) {
		bytes += s.queue[n].bytes
		n++
	}
	batch := s.queue[:n:n]
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil // frees the memory
	}
	return batch
}

func (s *SQLite) takeAll() []commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.queue
	s.queue = nil
	return all
}

// answer answers the commits of a batch in order. If the batch is refused, it answers the last one first. It calls
// release before, because done may commit again.
func (s *SQLite) answer(batch []commit, err error) {
	changes := s.release(batch)
	for i := range batch {
		c := &batch[i]
		if err != nil {
			c = &batch[len(batch)-1-i]
		}
		c.answer(err)
		if err == nil {
			s.count.StoreLatency.Observe(time.Since(c.at))
		}
	}
	if err == nil {
		s.count.StoreBatches.Add(1)
		s.count.StoreCommits.Add(int64(len(batch)))
		s.count.StoreChanges.Add(int64(changes))
	} else {
		s.count.StoreRefused.Add(counters.StoreFailed, int64(len(batch)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered += uint64(len(batch))
	s.committed.Broadcast()
}

// release subtracts a batch from the counts of waiting commits.
func (s *SQLite) release(batch []commit) (changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting -= len(batch)
	for i := range batch {
		changes += len(batch[i].changes)
		s.bytes -= batch[i].bytes
	}
	s.changes -= changes
	return changes
}

// writeBatch makes a batch durable, either completely or not at all.
func (s *SQLite) writeBatch(batch []commit) error {
	w, ctx := &s.writer, context.Background()
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("store: %s: %w", s.path, err)
	}
	replaced, err := s.keepDamaged(ctx, batch)
	if err == nil {
		err = w.writeAll(ctx, batch)
	}
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "COMMIT")
	}
	if err == nil {
		s.forgetDamaged(replaced)
		_ = fault.Hit(fault.StoreCommitted)
		return nil
	}
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK") // SQLite may already have rolled back
	if bad := s.truncateLog(ctx); bad != nil {
		s.log.Error().Err(bad).Str("path", s.path).Msg("refused changes may be in the store if the process dies now")
	}
	return fmt.Errorf("store: %s: %w", s.path, err)
}

var errFault = errors.New("fault injected")

func (w *writer) writeAll(ctx context.Context, batch []commit) (err error) {
	if fault.Hit(fault.StoreWrite) {
		return errFault
	}
	for i := range batch {
		for _, c := range batch[i].changes {
			if c.Value == nil {
				_, err = w.del.ExecContext(ctx, string(c.Kind), c.ID)
			} else {
				_, err = w.put.ExecContext(ctx, string(c.Kind), c.ID, c.Value, sum(c.Kind, c.ID, c.Value))
			}
			if err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 { // a probe: write something that changes nothing but must reach the disk
		if _, err := w.conn.ExecContext(ctx, "PRAGMA user_version = 0"); err != nil {
			return err
		}
	}
	if fault.Hit(fault.StoreCommit) {
		return errFault
	}
	return nil
}

// truncateLog removes the frames of a failed commit from the log. If only the sync has failed, the file contains the
// whole transaction, and the next process would apply it.
func (s *SQLite) truncateLog(ctx context.Context) error {
	log := s.path + logSuffix
	info, err := os.Stat(log)
	if err != nil {
		return err
	}
	pages, err := s.writer.logPages(ctx)
	if err != nil {
		return err
	}
	if end := logLength(pages); info.Size() > end {
		return os.Truncate(log, end)
	}
	return nil
}

var errPagesUnknown = errors.New("SQLite does not tell how many pages of its log are committed")

// logPages returns the number of committed pages in the log. An unknown number is an error, because it must not be
// mistaken for zero.
func (w *writer) logPages(ctx context.Context) (pages int64, err error) {
	var busy, moved int64
	err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &moved)
	if err == nil && pages < 0 {
		err = errPagesUnknown
	}
	return pages, err
}

// checkpoint moves the log into the database when the log is long. A failure is harmless: the log grows, and the next
// transaction tries again.
func (s *SQLite) checkpoint() {
	ctx := context.Background()
	pages, err := s.writer.logPages(ctx)
	if err == nil && pages < checkpointPages {
		return
	}
	if err == nil && fault.Hit(fault.StoreCheckpoint) {
		err = errFault
	}
	if err == nil {
		_, err = s.writer.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	}
	if err != nil {
		s.log.Warn().Err(err).Str("path", s.path).Msg("the store's log was not moved into its database")
		return
	}
	_ = fault.Hit(fault.StoreCheckpointed)
}

// report logs once that writing fails, and once that it works again.
func (s *SQLite) report(err error) {
	w := &s.writer
	switch {
	case err != nil && !w.failing:
		s.log.Error().Err(err).Msg("the store does not write: changes are refused until it does")
		s.count.StoreFailing.Store(1)
	case err == nil && w.failing:
		s.log.Info().Str("path", s.path).Msg("the store writes again")
		s.count.StoreFailing.Store(0)
	}
	w.failing = err != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !w.failing || s.closed:
	case s.probe == nil:
		s.probe = time.AfterFunc(probeEvery, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.probing = true
			s.wake.Signal()
		})
	default:
		s.probe.Reset(probeEvery)
	}
}

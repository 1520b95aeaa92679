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
	// checkpointPages is how long the log may be when it is moved into the database.
	checkpointPages = 1000
	// batchBytes is how much one transaction takes, unless one commit alone has more: a
	// longer one would have everybody wait for its end.
	batchBytes = 16 << 20
)

// writer is what the one goroutine that writes has.
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

// write writes until the store is closed and nothing waits any more.
func (s *SQLite) write() {
	defer close(s.ended)
	for {
		batch := s.take()
		if batch == nil {
			return
		}
		err := s.writeBatch(batch)
		s.report(err)
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

// take waits for commits and returns what fits one transaction; nil at the end.
func (s *SQLite) take() []commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 {
		if s.closed {
			return nil
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
		s.queue = nil // give the memory back
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

// answer makes room for others and tells everybody in a batch: in order, or, if they are
// refused, the last one first.
func (s *SQLite) answer(batch []commit, err error) {
	changes := s.release(batch)
	for i := range batch {
		c := &batch[i]
		if err != nil {
			c = &batch[len(batch)-1-i]
		}
		c.tell(err)
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
	s.done += uint64(len(batch))
	s.committed.Broadcast()
}

// release takes a batch off what waits, before anybody is told, who may commit at once.
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

// writeBatch makes a batch durable: all of it, or nothing.
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
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK") // SQLite may have done so
	if ghost := s.dropGhost(ctx); ghost != nil {
		s.log.Error().Err(ghost).Str("path", s.path).Msg("what the store refused may be there if the process dies now")
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
	if fault.Hit(fault.StoreCommit) {
		return errFault
	}
	return nil
}

// dropGhost cuts what a failed commit has left behind the log. Usually it is nothing that
// counts; but if it was the sync that failed, the whole transaction is in the file, and
// the next process would take it for a good one.
func (s *SQLite) dropGhost(ctx context.Context) error {
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

var errPagesUnknown = errors.New("SQLite does not say how many pages of the log count")

// logPages returns how many pages of the log count. That it is not known is an error: it
// is not none.
func (w *writer) logPages(ctx context.Context) (pages int64, err error) {
	var busy, moved int64
	err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &moved)
	if err == nil && pages < 0 {
		err = errPagesUnknown
	}
	return pages, err
}

// checkpoint moves the log into the database once it is long. That it fails harms nobody:
// the log grows, and it is tried again.
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

// report says once that writing fails, and once that it works again.
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
}

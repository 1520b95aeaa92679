package sessionlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"troupe/messages"
)

const awaitWrittenMax = time.Second // how long a reader waits for the queued lines to be written

// Read returns what has been written to a game session's log, starting at the oldest line that is kept. The error is
// fs.ErrNotExist if the game session has no log. A running game session always has a log, but it may be empty. Only one
// goroutine may use the result.
func (s *Store) Read(id messages.GameSessionID) (io.ReadCloser, error) {
	return s.read(context.Background(), id, false)
}

// Follow is like Read, but waits for more lines at the end of the log. It ends when the game session has ended, the
// store is closed, or ctx is done.
func (s *Store) Follow(ctx context.Context, id messages.GameSessionID) (io.ReadCloser, error) {
	return s.read(ctx, id, true)
}

// Tail is like Read, but returns only the last bytes of a log that is longer than that. It may start in the middle of a
// line. whole is true if nothing was skipped.
func (s *Store) Tail(id messages.GameSessionID, bytes int64) (log io.ReadCloser, whole bool, err error) {
	log, err = s.read(context.Background(), id, false)
	if err != nil {
		return nil, false, err
	}
	return log, log.(*reader).skipTo(bytes), nil
}

// Place is a place in a log. The zero value is its beginning.
type Place struct {
	File   int   // number of the file
	Offset int64 // in the file, in bytes
}

// ReadAt returns what has been written to a log from a place on, at most len(p) bytes, and the place that follows. If
// follow is set, it waits for further lines until ctx is done. end says that the log has no more. The error is
// fs.ErrNotExist if the game session has no log.
func (s *Store) ReadAt(ctx context.Context, id messages.GameSessionID, at Place, p []byte, follow bool) (n int, next Place, end bool, err error) {
	log, err := s.read(ctx, id, follow)
	if err != nil {
		return 0, at, false, err
	}
	r := log.(*reader)
	defer r.Close()
	r.number, r.at = at.File, at.Offset
	n, err = r.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		end, err = true, nil
	case ctx.Err() != nil:
		err = nil
	}
	return n, Place{r.number, r.at}, end, err
}

// TailPlace returns the place that is left bytes before the end of a log. whole is true if that is its beginning.
func (s *Store) TailPlace(id messages.GameSessionID, left int64) (at Place, whole bool, err error) {
	log, whole, err := s.Tail(id, left)
	if err != nil {
		return at, false, err
	}
	r := log.(*reader)
	return Place{r.number, r.at}, whole, nil
}

// skipTo skips the beginning of the log so that at most left bytes remain. It reports whether nothing was skipped.
func (r *reader) skipTo(left int64) bool {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for i := len(r.log.parts) - 1; i >= 0; i-- {
		p := r.log.parts[i]
		if p.bytes > left {
			r.number, r.at = p.number, p.bytes-left
			return false
		}
		left -= p.bytes
	}
	return true
}

func (s *Store) read(ctx context.Context, id messages.GameSessionID, follow bool) (io.ReadCloser, error) {
	<-s.scanned
	s.mu.Lock()
	l := s.logs[id]
	if l != nil {
		s.release(l)
	}
	s.mu.Unlock()
	if l == nil {
		return nil, fs.ErrNotExist
	}
	s.awaitWritten(l)
	s.mu.Lock()
	none := len(l.parts) == 0 && l.writers == 0
	s.mu.Unlock()
	if none && !follow {
		return nil, fs.ErrNotExist
	}
	return &reader{store: s, log: l, ctx: ctx, follow: follow}, nil
}

func (s *Store) awaitWritten(l *log) {
	timeout := time.NewTimer(awaitWrittenMax)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		queued, changed := l.queued, s.changed
		s.mu.Unlock()
		if !queued {
			return
		}
		select {
		case s.flushNow <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-s.done:
			return
		case <-timeout.C:
			return
		}
	}
}

// reader reads the files of a log in order. It reads only complete writes, so it never ends in the middle of a line.
type reader struct {
	store  *Store
	log    *log
	ctx    context.Context
	follow bool

	file   *os.File
	number int // number of the current file
	at     int64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for {
		left, next, wait := r.state()
		switch {
		case left > 0:
			n, err := r.readPart(p[:min(int64(len(p)), left)])
			if n > 0 || err != nil || len(p) == 0 {
				return n, err
			}
		case next > 0:
			r.close()
			r.number, r.at = next, 0
		case wait == nil:
			return 0, io.EOF
		default:
			select {
			case <-wait:
			case <-r.store.done:
			case <-r.ctx.Done():
				return 0, context.Cause(r.ctx)
			}
		}
	}
}

// state returns the number of bytes left in the current file. If it is 0, next is the number of the next file. If there
// is no next file, wait is a channel that is closed when the log has grown. At the end of the log all three results are
// zero.
func (r *reader) state() (left int64, next int, wait <-chan struct{}) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range r.log.parts {
		if p.number == r.number && p.bytes > r.at {
			return p.bytes - r.at, 0, nil
		}
		if p.number > r.number {
			return 0, p.number, nil
		}
	}
	over := r.log.writers == 0 && !r.log.queued
	select {
	case <-s.done:
		over = true
	default:
	}
	if !r.follow || over {
		return 0, 0, nil
	}
	return 0, 0, s.changed
}

// readPart reads from the current file. It skips a file that rotation has removed.
func (r *reader) readPart(p []byte) (int, error) {
	if r.file == nil {
		f, err := os.Open(r.store.path(r.log, r.number))
		if errors.Is(err, fs.ErrNotExist) {
			r.number, r.at = r.number+1, 0
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		r.file = f
	}
	n, err := r.file.ReadAt(p, r.at)
	r.at += int64(n)
	switch {
	case n > 0:
		return n, nil
	case err == io.EOF: // another process has truncated the file
		r.number, r.at = r.number+1, 0
		r.close()
		return 0, nil
	}
	return 0, err
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// Close implements io.Closer. It does not interrupt a Read that is waiting; only the context of Follow does.
func (r *reader) Close() error {
	r.close()
	return nil
}

package sessionlog

import (
	"cmp"
	"container/list"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// Store is the logs of all game sessions of one host. Its methods may be called
// from any goroutine. Close ends its goroutine.
type Store struct {
	dir  string
	o    Options
	wake chan struct{} // something has been queued
	rush chan struct{} // somebody waits for what is queued
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex // guards what follows
	logs    map[messages.GameSessionID]*log
	dirty   []*log        // have something pending, or an end
	pending int           // bytes, of all
	total   int64         // bytes in files
	changed chan struct{} // closed when files have grown, and replaced
	closed  bool

	// owned by the writer
	files   *list.List // of *log with an open file, least recently used first
	garbage []func()   // see tidy
	warned  time.Time  // of the last warning
}

// log is the log of one game session.
type log struct {
	id   messages.GameSessionID
	base string // path without number

	// guarded by Store.mu
	writers int // sinks that are not closed
	ended   time.Time
	queued  bool // in Store.dirty, or being written
	writing bool // the writer has lines of it in its hands
	pending []byte
	lines   int // in pending
	missing int // lines dropped since
	parts   []part
	last    int // highest number of a part so far

	// owned by the writer
	file *os.File
	used *list.Element
}

// part is one file of a log.
type part struct {
	number int
	bytes  int64
}

// kept reports whether the log has lines, in files or on the way there, or may get its
// first. The caller holds Store.mu.
func (l *log) kept() bool {
	return len(l.parts) > 0 || len(l.pending) > 0 || l.writing || l.writers > 0
}

func (l *log) bytes() (n int64) {
	for _, p := range l.parts {
		n += p.bytes
	}
	return n
}

// Open returns the store in a folder, which is made when the first line is written,
// with what an earlier process left there. A folder that cannot be read is warned
// of, and counts as empty.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, o: o.withDefaults(), logs: make(map[messages.GameSessionID]*log), changed: make(chan struct{}), files: list.New(),
		wake: make(chan struct{}, 1), rush: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	s.scan()
	go s.run()
	return s, nil
}

// scan finds the files that are there. Their game sessions have ended. What cannot
// be read hides nothing else.
func (s *Store) scan() {
	var failed error // the first
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if failed == nil && !os.IsNotExist(err) {
				failed = err
			}
			return nil
		}
		name, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		id, number, ok := parse(name)
		if !ok || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone meanwhile
		}
		l := s.logs[id]
		if l == nil {
			b, _ := base(id)
			l = &log{id: id, base: filepath.Join(s.dir, b)}
			s.logs[id] = l
		}
		l.parts = append(l.parts, part{number, info.Size()})
		l.last = max(l.last, number)
		s.total += info.Size()
		if info.ModTime().After(l.ended) {
			l.ended = info.ModTime()
		}
		return nil
	})
	if err = cmp.Or(failed, err); err != nil {
		s.o.Log.Warn().Err(err).Msg("logs of earlier game sessions cannot be found")
	}
	for _, l := range s.logs {
		slices.SortFunc(l.parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	}
}

// Open returns the sink of a game session. One that had a log before, in this
// process or an earlier one, goes on with it. An id that is empty or over 1,024
// bytes gets a sink that keeps nothing.
func (s *Store) Open(id messages.GameSessionID) script.Sink {
	b, ok := base(id)
	if !ok {
		return nowhere{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil {
		l = &log{id: id, base: filepath.Join(s.dir, b)}
		s.logs[id] = l
	}
	l.writers++
	l.ended = time.Time{}
	return &sink{store: s, log: l}
}

// Info is one log of a list.
type Info struct {
	ID    messages.GameSessionID
	Bytes int64     // in files
	Ended time.Time // of the game session; zero while it runs
}

// List returns the game sessions that have a log, as all have that run: these first,
// then the one that ended last.
func (s *Store) List() []Info {
	s.mu.Lock()
	all := make([]Info, 0, len(s.logs))
	for _, l := range s.logs {
		if l.kept() {
			all = append(all, Info{ID: l.id, Bytes: l.bytes(), Ended: l.ended})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Info) int {
		if a.Ended.IsZero() != b.Ended.IsZero() {
			if a.Ended.IsZero() {
				return -1
			}
			return 1
		}
		return cmp.Or(b.Ended.Compare(a.Ended), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Has reports whether a game session has a log, as all have that run.
func (s *Store) Has(id messages.GameSessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	return l != nil && l.kept()
}

// Keep is for how long after its end a game session's log is kept.
func (s *Store) Keep() time.Duration { return s.o.Keep }

// Close writes what waits, ends all readers and the store's goroutine, and leaves
// the files. Lines that come later are dropped. It is idempotent.
func (s *Store) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.quit)
	}
	<-s.done
}

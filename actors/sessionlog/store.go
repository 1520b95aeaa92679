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

// Store holds the logs of all game sessions of one host. Its methods may be called from any goroutine. Close ends its goroutine.
type Store struct {
	dir      string
	o        Options
	wake     chan struct{} // a log has been queued
	flushNow chan struct{} // a reader waits for queued lines
	quit     chan struct{}
	done     chan struct{}

	mu      sync.Mutex // guards the fields of this group
	logs    map[messages.GameSessionID]*log
	dirty   []*log        // queued for the writer: they have pending lines, or have ended
	pending int           // queued bytes of all logs
	total   int64         // bytes in files
	changed chan struct{} // closed and replaced when files have grown
	closed  bool

	// owned by the writer
	files    *list.List // of *log with an open file, least recently used first
	cleanups []func()   // see cleanUp
	warned   time.Time  // of the last warning
}

type log struct {
	id   messages.GameSessionID
	base string // path without number

	// guarded by Store.mu
	writers int // sinks that are not closed
	ended   time.Time
	queued  bool // in Store.dirty, or being written
	writing bool // the writer is writing lines of it
	pending []byte
	lines   int // in pending
	missing int // lines dropped since the last write
	parts   []part
	last    int // highest number of a part so far

	// owned by the writer
	file *os.File
	used *list.Element
}

type part struct {
	number int
	bytes  int64
}

// kept reports whether the log has lines, in files or queued, or is still open for writing. The caller holds Store.mu.
func (l *log) kept() bool {
	return len(l.parts) > 0 || len(l.pending) > 0 || l.writing || l.writers > 0
}

func (l *log) bytes() (n int64) {
	for _, p := range l.parts {
		n += p.bytes
	}
	return n
}

// Open returns the store in a folder, with the logs that earlier processes have left there. The folder is created when the first
// line is written. If it cannot be read, Open logs a warning and treats it as empty.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, o: o.withDefaults(), logs: make(map[messages.GameSessionID]*log), changed: make(chan struct{}), files: list.New(),
		wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	s.scan()
	go s.run()
	return s, nil
}

// scan finds the files of earlier processes, whose game sessions have ended. It passes over a folder that cannot be read.
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
		b, _ := base(id)
		l := s.log(id, b)
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

// log returns the log of a game session, which may be new. The caller holds mu.
func (s *Store) log(id messages.GameSessionID, base string) *log {
	l := s.logs[id]
	if l == nil {
		l = &log{id: id, base: filepath.Join(s.dir, base)}
		s.logs[id] = l
	}
	return l
}

// Open returns the sink of a game session, which appends to its log. That of an id which is empty or over 1,024 bytes discards lines.
func (s *Store) Open(id messages.GameSessionID) script.Sink {
	b, ok := base(id)
	if !ok {
		return discard{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log(id, b)
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

// List returns all logs: first those of game sessions that run, which always have one, then the others, the latest end first.
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

// Has reports whether a game session has a log. One that runs always has.
func (s *Store) Has(id messages.GameSessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	return l != nil && l.kept()
}

// Keep returns how long a log is kept after its game session's end.
func (s *Store) Keep() time.Duration { return s.o.Keep }

// Close writes the queued lines and ends all readers and the store's goroutine. Later lines are dropped. It is idempotent.
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

// sink writes into the log of one game session.
type sink struct {
	store *Store
	log   *log

	closed bool // guarded by store.mu
}

// discard is the sink of an id that cannot have a log.
type discard struct{}

func (discard) Write(script.Line) {}
func (discard) Close()            {}

// Write implements script.Sink. It copies the line into the queue, or counts it as missing if the queue is full.
func (k *sink) Write(line script.Line) {
	text := appendLine(nil, line)
	s, l := k.store, k.log
	s.mu.Lock()
	if k.closed || s.closed {
		s.mu.Unlock()
		return
	}
	fits := len(l.pending)+len(text) <= min(pendingMax, int(s.o.fileBytes/2)) && s.pending+len(text) <= pendingAllMax
	if fits {
		l.pending = append(l.pending, text...)
		l.lines++
		s.pending += len(text)
	} else {
		l.missing++
	}
	s.enqueue(l)
	s.mu.Unlock()
	if !fits {
		s.o.Counters.LogLinesDropped.Add(1)
	}
}

// Close implements script.Sink: the game session is over.
func (k *sink) Close() {
	s, l := k.store, k.log
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.closed {
		return
	}
	k.closed = true
	if l.writers--; l.writers == 0 {
		l.ended = time.Now()
		s.enqueue(l)
	}
}

// enqueue queues a log for the writer. The caller holds mu.
func (s *Store) enqueue(l *log) {
	if l.queued {
		return
	}
	l.queued = true
	s.dirty = append(s.dirty, l)
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

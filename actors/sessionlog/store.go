package sessionlog

import (
	"bytes"
	"cmp"
	"container/list"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// Store holds the logs of all game sessions of one host. Any goroutine may call its methods. Close ends the store's
// goroutine.
type Store struct {
	dir      string
	o        Options
	wake     chan struct{} // a log has been queued
	flushNow chan struct{} // a reader waits for queued lines
	scanned  chan struct{} // closed when the logs of earlier processes are known
	quit     chan struct{}
	done     chan struct{}

	mu      sync.Mutex // guards the following group of fields
	logs    map[messages.GameSessionID]*log
	dirty   []*log        // logs queued for the writer because they have pending lines or have ended
	pending int           // total of queued bytes
	total   int64         // total size of all files
	changed chan struct{} // closed and replaced when files have grown
	closed  bool

	// The writer goroutine owns the following fields.
	files    *list.List // *log values with an open file, least recently used first
	cleanups []func()   // see cleanUp
	warned   time.Time  // time of the last warning
}

type log struct {
	id messages.GameSessionID

	// Store.mu guards the following fields.
	writers int // number of sinks that are not closed
	ended   time.Time
	queued  bool   // the log is in Store.dirty or is being written
	writing bool   // the writer is writing lines of the log
	loud    bool   // lines have been or will be written to files
	held    []byte // lines that are written once the log is loud
	pending []byte
	lines   int // number of lines in pending
	missing int // number of lines dropped since the last write
	parts   []part
	last    int // the highest file number used so far

	// The writer goroutine owns the following fields.
	file *os.File
	used *list.Element
}

type part struct {
	number int
	bytes  int64
}

// kept reports whether the log contains or may still get lines: it has files or queued lines, or is open for writing.
// The caller holds Store.mu.
func (l *log) kept() bool {
	return len(l.parts) > 0 || len(l.pending) > 0 || l.writing || l.writers > 0
}

func (l *log) bytes() (n int64) {
	for _, p := range l.parts {
		n += p.bytes
	}
	return n
}

// Open returns the store in a folder, including the logs of earlier processes, which it finds in the background: Has,
// List and all readers wait for that. The folder is created when the first line is written. If it cannot be read, the
// store logs a warning and treats it as empty.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, o)
	go s.run()
	return s, nil
}

func newStore(dir string, o Options) *Store {
	return &Store{
		dir: dir, o: o.withDefaults(), logs: make(map[messages.GameSessionID]*log), changed: make(chan struct{}), files: list.New(),
		wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), scanned: make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
	}
}

// log returns the log of a game session. It creates the log if necessary. The caller holds mu.
func (s *Store) log(id messages.GameSessionID) *log {
	l := s.logs[id]
	if l == nil {
		l = &log{id: id}
		s.logs[id] = l
	}
	return l
}

// path returns the path of a log's file.
func (s *Store) path(l *log, number int) string {
	b, _ := base(l.id)
	return filepath.Join(s.dir, file(b, number))
}

// Open returns a sink that appends to the log of a game session. If the id is empty or longer than 1,024 bytes, the
// sink discards all lines.
func (s *Store) Open(id messages.GameSessionID) script.Sink {
	if id == "" || len(id) > idMax {
		return discard{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log(id)
	l.writers++
	l.ended = time.Time{}
	return &sink{store: s, log: l}
}

// Info describes one log.
type Info struct {
	ID    messages.GameSessionID
	Bytes int64     // size of its files
	Ended time.Time // end of the game session; zero while it runs
}

// List returns all logs. The logs of running game sessions come first; each of these always has a log. The other logs
// follow, sorted by the end of their game sessions, latest first.
func (s *Store) List() []Info {
	<-s.scanned
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

// Has reports whether a game session has a log. A running game session always has one.
func (s *Store) Has(id messages.GameSessionID) bool {
	<-s.scanned
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	return l != nil && l.kept()
}

// Keep returns how long a log is kept after the end of its game session.
func (s *Store) Keep() time.Duration { return s.o.Keep }

// Close writes the queued lines, and ends all readers and the store's goroutine. Later lines are dropped. It is
// idempotent.
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

// sink writes to the log of one game session.
type sink struct {
	store *Store
	log   *log

	closed bool // guarded by store.mu
}

// discard is the sink for an id that cannot have a log.
type discard struct{}

func (discard) Write(script.Line) {}
func (discard) Close()            {}

// heldMax is the maximum size of the lines that a log holds back, in bytes.
const heldMax = 1 << 10

// Write implements script.Sink. It copies the line into the queue. If the queue is full, it counts the line as missing.
// Lines that the host also has in its own log, such as the beginning and the end of a game session, are held back until
// there is another line, a warning, or a reader. So a game session that logs nothing has no file.
func (k *sink) Write(line script.Line) {
	text := appendLine(nil, line)
	s, l := k.store, k.log
	s.mu.Lock()
	if k.closed || s.closed {
		s.mu.Unlock()
		return
	}
	if line.Echo && line.Level < script.LevelWarn && !l.loud && len(l.held)+len(text) <= heldMax {
		l.held = append(l.held, text...)
		s.mu.Unlock()
		return
	}
	s.release(l)
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

// release makes a log loud: it queues the lines that were held back. The caller holds mu.
func (s *Store) release(l *log) {
	l.loud = true
	if len(l.held) > 0 {
		l.pending, l.held = l.held, nil
		l.lines += bytes.Count(l.pending, []byte("\n"))
		s.pending += len(l.pending)
		s.enqueue(l)
	}
}

// Close implements script.Sink. It is called when the game session has ended.
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
	default: // the writer is already awake
	}
}

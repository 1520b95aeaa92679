package sessionlog

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// sweep deletes the logs of game sessions that ended too long ago, and logs that exceed the limits.
func (s *Store) sweep(now time.Time) {
	s.mu.Lock()
	for _, l := range s.ended(nil) {
		if now.Sub(l.ended) <= s.o.Keep {
			break
		}
		s.dropLog(l)
	}
	s.mu.Unlock()
	s.makeRoom(nil, 0)
}

// makeRoom deletes logs until n more bytes for l are within the limits. If a limit is exceeded, it frees another
// sixteenth of that limit. It reports whether it succeeded.
func (s *Store) makeRoom(l *log, n int64) bool {
	defer s.cleanUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	tooBig := s.total+n > s.o.totalBytes
	tooMany := len(s.logs) > s.o.logsMax
	if !tooBig && !tooMany {
		return true
	}
	bytes, logs := s.o.totalBytes-n, s.o.logsMax
	if tooBig {
		bytes -= s.o.totalBytes / 16
	}
	if tooMany {
		logs -= s.o.logsMax / 16
	}
	for _, old := range s.ended(l) {
		if s.total <= bytes && len(s.logs) <= logs {
			break
		}
		s.dropLog(old)
	}
	for tooBig && s.total > bytes && s.evict(l) {
	}
	return s.total+n <= s.o.totalBytes
}

// ended returns the logs whose game sessions have ended, sorted by the time of the end. The caller holds mu.
func (s *Store) ended(except *log) (all []*log) {
	for _, l := range s.logs {
		if l != except && !l.ended.IsZero() && !l.queued {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *log) int { return a.ended.Compare(b.ended) })
	return all
}

// evict removes the oldest file of the largest log. It does not remove the file that is being written. The caller holds
// mu.
func (s *Store) evict(writing *log) bool {
	var most *log
	var bytes int64
	for _, l := range s.logs {
		if n := l.bytes(); n > bytes && (l != writing || len(l.parts) > 1) {
			most, bytes = l, n
		}
	}
	if most == nil {
		return false
	}
	s.dropPart(most)
	return true
}

// dropLog removes a log whose game session has ended. The caller holds mu.
func (s *Store) dropLog(l *log) {
	for len(l.parts) > 0 {
		s.dropPart(l)
	}
	delete(s.logs, l.id)
	if path := s.path(l, 1); filepath.Dir(path) != s.dir {
		s.cleanups = append(s.cleanups, func() { s.removeFolders(path) })
	}
}

// removeFolders removes the folders that were created for a file of a log with a long id.
func (s *Store) removeFolders(path string) {
	for dir := filepath.Dir(path); dir != s.dir; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return // another log has files in this folder
		}
	}
}

// dropPart removes the oldest file of a log. The caller holds mu and must call cleanUp after releasing it.
func (s *Store) dropPart(l *log) {
	p := l.parts[0]
	s.total -= p.bytes
	l.parts = l.parts[1:]
	last := len(l.parts) == 0
	s.cleanups = append(s.cleanups, func() {
		if last {
			s.closeFile(l)
		}
		_ = os.Remove(s.path(l, p.number))
	})
}

// cleanUp closes and removes dropped files. It does so without holding mu, so that a hanging disk does not block
// callers that log.
func (s *Store) cleanUp() {
	for _, do := range s.cleanups {
		do()
	}
	s.cleanups = nil
}

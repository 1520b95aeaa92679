package sessionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/actors/script"
)

// errNoSpace says that a write would exceed totalBytes.
var errNoSpace = errors.New("sessionlog: the bound on all logs together is reached")

// run is the writer goroutine. It waits for a queued log, waits for further logs during flushEvery, and then writes
// them all.
func (s *Store) run() {
	defer close(s.done)
	s.scan()
	close(s.scanned)
	s.sweep(time.Now())
	sweeps := time.NewTicker(min(sweepEvery, max(s.o.Keep/4, time.Second)))
	defer sweeps.Stop()
	gather := time.NewTimer(time.Hour)
	gather.Stop()
	for {
		select {
		case <-s.wake:
			gather.Reset(flushEvery)
			select {
			case <-gather.C:
			case <-s.flushNow:
			case <-s.quit:
			}
			s.flush()
		case <-s.flushNow:
			s.flush()
		case now := <-sweeps.C:
			s.sweep(now)
		case <-s.quit:
			s.flush()
			for s.files.Len() > 0 {
				s.closeFile(s.files.Front().Value.(*log))
			}
			return
		}
	}
}

// flush writes the pending lines of all queued logs and wakes the readers.
func (s *Store) flush() {
	s.mu.Lock()
	dirty := s.dirty
	s.dirty = nil
	s.mu.Unlock()
	for _, l := range dirty {
		s.write(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) write(l *log) {
	s.mu.Lock()
	data, lines, missing := l.pending, l.lines, l.missing
	l.pending, l.lines, l.missing, l.writing = nil, 0, 0, lines > 0
	s.pending -= len(data)
	s.mu.Unlock()
	if missing > 0 {
		data = appendLine(data, script.Line{Time: time.Now(), Level: script.LevelWarn, File: "troupe", Text: missingText(missing)})
	}
	var err error
	if len(data) > 0 {
		err = s.append(l, data)
	}
	s.warn(err)
	if s.countWritten(l, lines, missing, err) {
		s.closeFile(l)
		if last := l.last; last > 0 {
			// A later process uses this time as the end of the game session.
			_ = os.Chtimes(s.path(l, last), time.Time{}, time.Now())
		}
	}
}

// countWritten updates the counts after a write. It reports whether the log has ended.
func (s *Store) countWritten(l *log, lines, missing int, err error) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.queued, l.writing = false, false
	if err != nil {
		l.missing += lines + missing // reported with the next successful write
		s.o.Counters.LogLinesDropped.Add(int64(lines))
	}
	if len(l.pending) > 0 || l.missing > 0 && err == nil {
		s.enqueue(l)
	}
	if l.writers > 0 || l.queued {
		return false
	}
	if len(l.parts) == 0 {
		delete(s.logs, l.id)
	}
	return true
}

func missingText(n int) string {
	if n == 1 {
		return "1 line is missing: it came too fast, or could not be written"
	}
	return fmt.Sprintf("%d lines are missing: they came too fast, or could not be written", n)
}

const warnEvery = 10 * time.Minute

// warn logs that writing fails, at most once per warnEvery.
func (s *Store) warn(err error) {
	if now := time.Now(); err != nil && now.Sub(s.warned) >= warnEvery {
		s.warned = now
		s.o.Log.Warn().Err(err).Msg("logs of game sessions cannot be written; games go on without")
	}
}

// append appends complete lines to the last file of the log or to a new file.
func (s *Store) append(l *log, data []byte) error {
	if !s.makeRoom(l, int64(len(data))) {
		return errNoSpace
	}
	f, err := s.fileOf(l, int64(len(data)))
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	s.mu.Lock()
	last := &l.parts[len(l.parts)-1]
	if err != nil && f.Truncate(last.bytes) == nil {
		n = 0 // do not leave incomplete lines
	}
	last.bytes += int64(n)
	s.total += int64(n)
	s.mu.Unlock()
	if err != nil {
		s.closeFile(l)
	}
	return err
}

// fileOf returns the file for writing n more bytes. It may be a new file.
func (s *Store) fileOf(l *log, n int64) (*os.File, error) {
	s.mu.Lock()
	number, fresh := l.last, true
	if len(l.parts) > 0 {
		bytes := l.parts[len(l.parts)-1].bytes
		fresh = bytes > 0 && bytes+n > s.o.fileBytes
	}
	if fresh {
		number++
	}
	s.mu.Unlock()
	if fresh {
		s.closeFile(l)
	}
	if l.file != nil {
		s.files.MoveToBack(l.used)
		return l.file, nil
	}
	f, err := s.openFile(s.path(l, number))
	if err != nil {
		return nil, err
	}
	for s.files.Len() >= s.o.openMax {
		s.closeFile(s.files.Front().Value.(*log))
	}
	l.file, l.used = f, s.files.PushBack(l)
	if fresh {
		s.mu.Lock()
		l.parts = append(l.parts, part{number: number})
		l.last = number
		for len(l.parts) > s.o.files {
			s.dropPart(l)
		}
		s.mu.Unlock()
		s.cleanUp()
	}
	return f, nil
}

func (s *Store) openFile(name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	f, err := os.OpenFile(name, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(name, flags, 0o600)
	}
	return f, err
}

func (s *Store) closeFile(l *log) {
	if l.file != nil {
		l.file.Close()
		s.files.Remove(l.used)
		l.file, l.used = nil, nil
	}
}

// appendLine appends a line in the format of the log file.
func appendLine(to []byte, l script.Line) []byte {
	return append(append(to, l.Clean().String()...), '\n')
}

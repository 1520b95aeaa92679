package sessionlog

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scanBatch is the number of files that scan reads from a folder at a time. There may be many thousands.
const scanBatch = 256

// scan finds the files of earlier processes, whose game sessions have ended. It runs before the first file is written,
// while game sessions may already log. It skips folders that cannot be read.
func (s *Store) scan() {
	if err := s.scanFolder(""); err != nil {
		s.o.Log.Warn().Err(err).Msg("logs of earlier game sessions cannot be found")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logs {
		slices.SortFunc(l.parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	}
}

// scanFolder finds the files in a folder, whose path is relative to the store's. It returns the first error.
func (s *Store) scanFolder(path string) (failed error) {
	dir, err := os.Open(filepath.Join(s.dir, path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer dir.Close()
	for err == nil {
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(scanBatch)
		for _, e := range entries {
			switch name := filepath.Join(path, e.Name()); {
			case e.IsDir() && strings.HasPrefix(e.Name(), "d-"):
				failed = cmp.Or(failed, s.scanFolder(name))
			case e.Type().IsRegular():
				s.found(name, e)
			}
		}
	}
	if err == io.EOF {
		return failed
	}
	return cmp.Or(failed, err)
}

// found adds a file to its log.
func (s *Store) found(name string, e fs.DirEntry) {
	id, number, ok := parse(name)
	if !ok {
		return
	}
	info, err := e.Info()
	if err != nil {
		return // the file has been removed in the meantime
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log(id)
	l.parts = append(l.parts, part{number, info.Size()})
	l.last, l.loud = max(l.last, number), true
	s.total += info.Size()
	if l.writers == 0 && info.ModTime().After(l.ended) {
		l.ended = info.ModTime()
	}
}

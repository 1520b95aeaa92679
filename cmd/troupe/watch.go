package main

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/script/bundle"
)

// filesMax bounds the number of files; a script cannot have more.
const filesMax = bundle.FilesMax

// stamp identifies a version of a file.
type stamp struct {
	size int64
	time time.Time
}

// look returns the stamps of all files in a folder and below, or of one file. It skips
// hidden files, which are not part of a script, logs, and files that are deleted meanwhile.
// It follows links to files, and path if it is a link.
func look(path string) map[string]stamp {
	seen := make(map[string]stamp)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		hidden := name != path && strings.HasPrefix(filepath.Base(name), ".")
		switch {
		case err != nil:
			return nil
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir() || name != path && isLog(name):
			return nil
		case len(seen) >= filesMax:
			return fs.SkipAll
		}
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			seen[name] = stamp{info.Size(), info.ModTime()}
		}
		return nil
	})
	return seen
}

// isLog reports whether a file is one that grows by itself, such as where a shell writes the host's own output: each line
// that a reload logs would be the next change.
func isLog(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".log" || ext == ".out"
}

// watchFiles calls changed when the files at a path have changed and then stayed the same for
// one interval, because an editor may write a file in several steps. Changes during a
// call of changed are reported after it. It polls sizes and modification times, which works on every system and with every
// editor, and is cheap because scripts are small. It returns when ctx ends.
func watchFiles(ctx context.Context, path string, every time.Duration, changed func()) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	known, last := look(path), map[string]stamp(nil)
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		now := look(path)
		if !maps.Equal(now, known) && maps.Equal(now, last) {
			known = now
			changed()
		}
		last = now
	}
}

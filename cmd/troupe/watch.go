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

// filesMax bounds the number of files. It is the maximum for a script.
const filesMax = bundle.FilesMax

// stamp identifies a version of a file.
type stamp struct {
	size int64
	time time.Time
}

// look returns the stamps of one file, or of all files in a folder and its subfolders. It skips hidden files (which are
// not part of a script), logs, and files that are deleted during the scan. It follows symbolic links to files, and path
// itself if it is a link.
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

// isLog reports whether a file is a log, for example one to which a shell redirects the host's output. Watching it
// would cause a loop: each reload writes a log line, which would be the next change.
func isLog(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".log" || ext == ".out"
}

// watchFiles calls changed when the files at path have changed and then stayed the same for one interval, because an
// editor may write a file in several steps. Changes during a call of changed are reported after that call. watchFiles
// polls sizes and modification times. This works on every system and with every editor, and is cheap because scripts
// are small. watchFiles returns when ctx ends.
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

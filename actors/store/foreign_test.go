package store

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/actorstest/assert"
)

// listing is all that is in a folder: names, modes and contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	assert.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&all, path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&all, "%x\n", text)
			return err
		}
		return nil
	}))
	return all.String()
}

// A file that is not a store is not changed by any function that opens stores.
func TestNothingIsChangedThatIsNoStore(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o777) },
		"a text":   func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("hello ", 1000)), 0o644) },
		"empty":    func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"a database": func(p string) error {
			db, err := sql.Open("sqlite", fileURL(p, "mode=rwc"))
			if err == nil {
				_, err = db.Exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
			}
			if err == nil {
				err = db.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, backup := filepath.Join(dir, "shared"), filepath.Join(t.TempDir(), "backup.db")
			assert.NoError(t, make(path))
			assert.NoError(t, os.Chmod(path, 0o755))
			before := listing(t, dir)
			try := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", what, err)
				}
				if after := listing(t, dir); after != before {
					t.Fatalf("%s:\n%s\nit was\n%s", what, after, before)
				}
			}
			_, err := Open(Options{Path: path})
			try("open", err)
			_, err = Backup(t.Context(), path, backup)
			try("backup", err)
			_, err = Restore(t.Context(), filepath.Join(dir, "new.db"), path)
			try("restore of it", err)
			if name == "a folder" {
				s := open(t, filepath.Join(t.TempDir(), "store.db"))
				_, err = Backup(t.Context(), s.path, backup)
				assert.NoError(t, err)
				_, err = Restore(t.Context(), path, backup)
				try("restore over it", err)
			}
		})
	}
}

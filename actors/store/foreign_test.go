package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/actorstest/assert"
)

// listing returns everything in a folder: names, modes and contents.
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

// No function that opens stores may change a file that is not a store.
func TestNothingIsChangedThatIsNoStore(t *testing.T) {
	for name, test := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a folder": {func(p string) error { return os.Mkdir(p, 0o777) }, "is a folder"},
		"a text":   {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("hello ", 1000)), 0o644) }, "file is not a database"},
		"empty":    {func(p string) error { return os.WriteFile(p, nil, 0o644) }, "the file is empty"},
		"a database": {func(p string) error {
			db, err := sql.Open("sqlite", fileURL(p, "mode=rwc"))
			if err == nil {
				_, err = db.Exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
			}
			if err == nil {
				err = db.Close()
			}
			return err
		}, "no store of this program"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, backup := filepath.Join(dir, "shared"), filepath.Join(t.TempDir(), "backup.db")
			assert.NoError(t, test.make(path))
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
			if try("open", err); !strings.Contains(err.Error(), test.want) {
				t.Errorf("open: %v, want %q", err, test.want)
			}
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

func TestAStoreMayHaveBeenAnalyzed(t *testing.T) {
	path := copyV1(t)
	db := assert.Value(connect(path))(t)
	_, err := db.Exec("ANALYZE")
	assert.NoError(t, errors.Join(err, db.Close()))
	checkV1(t, open(t, path))
}

// A store to which somebody has added triggers, views or other tables is refused wherever a store is opened, and the
// error names it. If its own tables are unchanged, --skip-damaged copies the records.
func TestForeignSchemaIsRefused(t *testing.T) {
	for _, c := range []struct{ sql, named string }{
		{"CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records WHERE kind = 'fleet'; END", "trigger t"},
		{"CREATE VIEW v AS SELECT 1", "view v"},
		{"CREATE INDEX i ON records (sum)", "index i"},
		{"CREATE TABLE other (x)", "table other"},
		{"ALTER TABLE records ADD COLUMN more TEXT", "table records"},
		{"ALTER TABLE records RENAME TO hidden; CREATE VIEW records AS SELECT * FROM hidden", "table records"},
		{"ALTER TABLE versions RENAME TO hidden; CREATE VIEW versions AS WITH RECURSIVE n (version) AS (SELECT 1 UNION ALL SELECT version FROM n) SELECT version FROM n", "table versions"},
	} {
		t.Run(c.named, func(t *testing.T) {
			path := copyV1(t)
			db := assert.Value(connect(path))(t)
			_, err := db.Exec(c.sql)
			assert.NoError(t, errors.Join(err, db.Close()))
			refused := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), c.named) {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err = Open(Options{Path: path})
			refused("open", err)
			_, err = Restore(t.Context(), filepath.Join(t.TempDir(), "new.db"), path)
			refused("restore", err)
			_, err = Backup(t.Context(), path, filepath.Join(t.TempDir(), "backup.db"))
			refused("backup", err)
			more := !strings.HasPrefix(c.named, "table ") || c.named == "table other" // the store's own tables are unchanged
			r, err := OpenReader(path)
			if !more {
				refused("check", err)
			} else if report, err := r.Check(t.Context()); err != nil || len(report.Broken) != 1 || !strings.Contains(report.Broken[0], c.named) {
				t.Errorf("check: %+v, %v", report, err)
			}
			if r != nil {
				assert.NoError(t, r.Close())
			}
			s, err := Open(Options{Path: path, SkipDamaged: true})
			if !more {
				refused("skip", err)
				return
			}
			assert.NoError(t, err)
			checkV1(t, s)
			closeStore(t, s)
			checkV1(t, open(t, path))
		})
	}
}

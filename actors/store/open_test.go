package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
)

// v1 is a store of schema version 1 with three records of each of two kinds. The first release with that schema created
// it.
const v1 = "testdata/v1.db"

func copyV1(t *testing.T) string {
	t.Helper()
	text := assert.Value(os.ReadFile(v1))(t)
	path := filepath.Join(t.TempDir(), "store.db")
	assert.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}

func checkV1(t *testing.T, s Store) {
	t.Helper()
	fleets, content := all(t, s, Fleet), all(t, s, Content)
	if len(fleets) != 3 || fleets["fleet-2"] != `{"ID":"fleet-2"}` || len(content["script-3"]) != 9000 {
		t.Errorf("%q, %d", fleets, len(content["script-3"]))
	}
}

func TestOldSchemaOpens(t *testing.T) {
	if os.Getenv("TROUPE_TEST_MAKE_V1") != "" {
		s := open(t, v1)
		for _, n := range []string{"1", "2", "3"} {
			assert.NoError(t, commitNow(s, Put(Fleet, "fleet-"+n, map[string]string{"ID": "fleet-" + n}), Change{Content, "script-" + n, bytes.Repeat([]byte(n), 9000)}))
		}
		closeStore(t, s)
		assert.NoError(t, os.Remove(v1+lockSuffix))
	}
	path := copyV1(t)
	s := open(t, path)
	checkV1(t, s)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	closeStore(t, s)
	checkV1(t, open(t, path))
}

// Migrations run one after the other, each only once. A migration that fails does not change the store.
func TestMigrations(t *testing.T) {
	path := copyV1(t)
	db, err := connect(path)
	assert.NoError(t, err)
	defer db.Close()
	later := append(migrations[:1:1], "ALTER TABLE records ADD COLUMN at INTEGER NOT NULL DEFAULT 7", "CREATE TABLE others (at INTEGER); INSERT INTO others SELECT at FROM records")
	wrong := append(later[:2:2], "CREATE TABLE half (x); CREATE TABLE records (x)")
	if err := migrate(db, wrong); err == nil || !strings.Contains(err.Error(), "schema version 3") {
		t.Errorf("%v", err)
	}
	if n, err := version(db); err != nil || n != 2 {
		t.Errorf("version %d, %v", n, err)
	}
	for range 2 {
		assert.NoError(t, migrate(db, later))
	}
	var others, half int
	assert.NoError(t, db.QueryRow("SELECT count(*) FROM others WHERE at = 7").Scan(&others))
	assert.NoError(t, db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").Scan(&half))
	if n, err := version(db); err != nil || n != 3 || others != 6 || half != 0 {
		t.Errorf("version %d, %d others, %d halves, %v", n, others, half, err)
	}
	assert.NoError(t, db.Close())
	if _, err := Open(Options{Path: path}); err == nil || !strings.Contains(err.Error(), path+": has schema version 3, and this program knows none above 1") {
		t.Errorf("%v", err)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "store.db")
	s := open(t, path)
	assert.NoError(t, commitNow(s, Put(Fleet, "a", 1)))
	for _, suffix := range []string{"", logSuffix, "-shm", lockSuffix} {
		if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
	}
	closeStore(t, s)
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	if _, err := Open(Options{Path: path}); !errors.Is(err, errLocked) || !strings.Contains(err.Error(), path+": another process has it open: process ") {
		t.Errorf("%v", err)
	}
	closeStore(t, s)
	open(t, path)
}

// Every connection has the settings that durability needs.
func TestSettings(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a b?c%d#e", "store.db"))
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "fullfsync": "1", "wal_autocheckpoint": "0"} {
		var own, any string
		assert.NoError(t, s.writer.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&own))
		assert.NoError(t, s.db.QueryRow("PRAGMA "+pragma).Scan(&any))
		if own != want || any != want {
			t.Errorf("%s: %s %s", pragma, own, any)
		}
	}
}

// The number and the size of waiting commits are limited. A single larger commit is accepted.
func TestBusy(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "store.db"), WaitingChanges: 10, WaitingBytes: 10_000})
	assert.NoError(t, err)
	defer closeStore(t, s)
	assert.NoError(t, commitNow(s, Change{Content, "large", make([]byte, 1_000_000)}))
	for what, c := range map[string][]Change{
		"changes": {Delete(Fleet, "a"), Delete(Fleet, "b"), Delete(Fleet, "c"), Delete(Fleet, "d")},
		"bytes":   {{Fleet, "a", make([]byte, 4000)}},
	} {
		hold, held := make(chan struct{}), make(chan struct{})
		s.Commit([]Change{Delete(Fleet, "none")}, func(error) { close(held); <-hold })
		<-held // blocks the writer
		later := make(chan error, 3)
		for range cap(later) {
			s.Commit(c, func(err error) { later <- err })
		}
		if len(later) == 0 { // refused commits are answered at once
			t.Errorf("%s: nothing was refused", what)
		}
		for range len(later) {
			if err := <-later; !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %v", what, err)
			}
		}
		close(hold)
		within(t, time.Minute, "flush", s.Flush)
		for range len(later) {
			assert.NoError(t, <-later)
		}
		assert.NoError(t, commitNow(s, c...))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count.StoreRefused.Total() == 0 || s.waiting != 0 || s.changes != 0 || s.bytes != 0 {
		t.Errorf("%d refused; %d wait, %d changes, %d bytes", s.count.StoreRefused.Total(), s.waiting, s.changes, s.bytes)
	}
}

// The log does not grow without limit, and its length is as the writer assumes.
func TestLogIsMovedIntoTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	for i := range 300 { // 30 MB
		value := bytes.Repeat([]byte{byte(i)}, 100_000) // different values, because SQLite does not write an unchanged value
		assert.NoError(t, commitNow(s, Change{Content, string(rune('a' + i%20)), value}))
	}
	s.Flush()
	info, err := os.Stat(path + logSuffix)
	assert.NoError(t, err)
	if info.Size() > 2*logLength(checkpointPages) {
		t.Errorf("a log of %d bytes", info.Size())
	}
	if info, err = os.Stat(path); err != nil || info.Size() < 2_000_000 {
		t.Errorf("a database of %d bytes, %v", info.Size(), err)
	}
}

// Commits that are refused together are answered in reverse order, so that the owner can undo each commit before those
// on which it depends.
func TestRefusedCommitsAreAnsweredInReverse(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	held, hold := make(chan struct{}), make(chan struct{})
	s.Commit([]Change{Put(Fleet, "a", 0)}, func(error) { close(held); <-hold })
	<-held
	var told []int // written only by the writer goroutine
	for n := range 3 {
		s.Commit([]Change{Put(Fleet, "a", n)}, func(err error) {
			if err != nil {
				told = append(told, n)
			}
		})
	}
	assert.OK(s.db.Exec("DROP TABLE records"))(t)
	close(hold)
	s.Flush()
	assert.List(t, "told", told, []int{2, 1, 0})
}

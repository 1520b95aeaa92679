package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"troupe/actors/actorstest/assert"
)

func none(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// A backup of a store that is being written contains the state at one moment: all commits that were answered before,
// and each commit completely.
func TestBackupWhileCommitsGoOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := open(t, path)
	var mu sync.Mutex
	answered := map[string]bool{}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint(c, "-", i)
				if err := commitNow(s, Change{Fleet, id, make([]byte, 1000)}, Change{Alias, id, make([]byte, 1000)}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answered[id] = true
				mu.Unlock()
			}
		})
	}
	var last string
	for n := range 5 {
		mu.Lock()
		before := maps.Clone(answered)
		mu.Unlock()
		last = filepath.Join(dir, fmt.Sprint("backup-", n))
		sum, err := Backup(t.Context(), path, last)
		assert.NoError(t, err)
		restored := filepath.Join(dir, fmt.Sprint("restored-", n))
		assert.OK(Restore(t.Context(), restored, last))(t)
		r := open(t, restored)
		fleets, aliases := all(t, r, Fleet), all(t, r, Alias)
		closeStore(t, r)
		if !maps.Equal(fleets, aliases) || sum.Records[Fleet] != len(fleets) || sum.Version != len(migrations) || sum.Bytes == 0 {
			t.Errorf("%d fleets, %d aliases, said %+v", len(fleets), len(aliases), sum)
		}
		for id := range before {
			if _, ok := fleets[id]; !ok {
				t.Errorf("%s was answered before the backup began", id)
			}
		}
		if info, err := os.Stat(last); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		none(t, dir, filepath.Base(last)+tempSuffix, filepath.Base(last)+logSuffix)
	}
	close(stop)
	wg.Wait()
	if _, err := Restore(t.Context(), path, last); !errors.Is(err, errLocked) {
		t.Errorf("restored under an open store: %v", err)
	}
	if _, err := Backup(t.Context(), path, last); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
	closeStore(t, s)
}

func TestRestoreKeepsTheOldStore(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup.db")
	s := open(t, path)
	assert.NoError(t, commitNow(s, Put(Fleet, "a", 1)))
	assert.OK(Backup(t.Context(), path, backup))(t)
	assert.NoError(t, commitNow(s, Put(Fleet, "a", 2), Put(Fleet, "b", 2)))
	closeStore(t, s)
	for range 2 {
		assert.OK(Restore(t.Context(), path, backup))(t)
		s = open(t, path)
		if got := all(t, s, Fleet); !maps.Equal(got, map[string]string{"a": "1"}) {
			t.Errorf("%q", got)
		}
		assert.NoError(t, commitNow(s, Put(Fleet, "b", 3)))
		closeStore(t, s)
	}
	for n, want := range []map[string]string{{"a": "2", "b": "2"}, {"a": "1", "b": "3"}} {
		old := open(t, fmt.Sprint(path, ReplacedSuffix, n+1))
		if got := all(t, old, Fleet); !maps.Equal(got, want) {
			t.Errorf("%d: %q, want %q", n+1, got, want)
		}
		closeStore(t, old)
	}
	assert.NoError(t, os.Remove(path+ReplacedSuffix+"1"))
	if sum, err := Restore(t.Context(), path, backup); err != nil || sum.Replaced != path+ReplacedSuffix+"3" {
		t.Errorf("the last one is kept as %s: %v", sum.Replaced, err)
	}
	none(t, dir, "store.db"+tempSuffix, "store.db"+logSuffix, "store.db-shm")
}

// Restore replaces a store whose process died, together with its log. Backup copies both.
func TestDeadStore(t *testing.T) {
	path := crashed(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if sum, err := Backup(t.Context(), copyStore(t, path), backup); err != nil || sum.Records[Alias] != 15 {
		t.Fatalf("%+v %v", sum, err)
	}
	for _, broken := range []bool{false, true} {
		at := copyStore(t, path)
		if broken {
			assert.NoError(t, os.WriteFile(at, []byte("nothing of a store"), 0o600))
		}
		assert.OK(Restore(t.Context(), at, backup))(t)
		if n, err := reopened(t, at); err != nil || n != 15 {
			t.Errorf("broken %v: %d commits, %v", broken, n, err)
		}
		if n, err := reopened(t, at+ReplacedSuffix+"1"); (err != nil) != broken || !broken && n != 15 {
			t.Errorf("broken %v: the old one has %d commits, %v", broken, n, err)
		}
	}
}

func TestBackupAndRestoreRefuse(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup.db")
	s := open(t, path)
	for i := range 15 {
		assert.NoError(t, commitNow(s, three(i)...))
	}
	closeStore(t, s)
	assert.OK(Backup(t.Context(), path, backup))(t)
	text, err := os.ReadFile(backup)
	assert.NoError(t, err)
	damaged := filepath.Join(dir, "damaged.db")
	for name, what := range map[string]func([]byte) []byte{
		"a changed value": func(b []byte) []byte { b[strings.Index(string(b), strings.Repeat("7", 100))+50] ^= 1; return b },
		"half of it":      func(b []byte) []byte { return b[:len(b)/2] },
		"nothing":         func([]byte) []byte { return nil },
		"something else":  func([]byte) []byte { return []byte("text") },
	} {
		assert.NoError(t, os.WriteFile(damaged, what([]byte(string(text))), 0o600))
		if _, err := Restore(t.Context(), path, damaged); err == nil || !strings.Contains(err.Error(), damaged) {
			t.Errorf("restored %s: %v", name, err)
		}
		out := filepath.Join(dir, "out.db")
		switch sum, err := Backup(t.Context(), damaged, out); {
		case name == "a changed value": // all other records are intact, and a host would start with them
			if err != nil || len(sum.Damaged) != 1 || sum.Damaged[0].Kind != Alias || sum.Damaged[0].ID != "7" {
				t.Errorf("backed up %s: %v, %v", name, sum.Damaged, err)
			}
			assert.NoError(t, os.Remove(out))
		case err == nil || !strings.Contains(err.Error(), damaged):
			t.Errorf("backed up %s: %v", name, err)
		}
		none(t, dir, "out.db", "out.db"+tempSuffix, "store.db"+tempSuffix, "store.db"+ReplacedSuffix+"1")
	}
	if n, err := reopened(t, path); err != nil || n != 15 {
		t.Errorf("%d commits, %v", n, err)
	}
	if _, err := Restore(t.Context(), path, filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Backup(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "out.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Backup(cancelled, path, filepath.Join(dir, "out.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Restore(t.Context(), path, crashed(t)); err == nil || !strings.Contains(err.Error(), "with a log") {
		t.Errorf("%v", err)
	}
	none(t, dir, "none.db", "none.db.lock", "out.db", "out.db"+tempSuffix)
}

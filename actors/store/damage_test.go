package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/actorstest/assert"
)

// crashed creates a store whose process died and returns its path. Five commits are in the database and ten in the log.
// Each commit has 3 records.
func crashed(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := open(t, path)
	for i := range 5 {
		assert.NoError(t, commitNow(s, three(i)...))
	}
	closeStore(t, s)
	s = open(t, path)
	for i := 5; i < 15; i++ {
		assert.NoError(t, commitNow(s, three(i)...))
	}
	dead := filepath.Join(dir, "dead.db")
	for _, suffix := range []string{"", logSuffix} {
		text := assert.Value(os.ReadFile(path + suffix))(t)
		assert.NoError(t, os.WriteFile(dead+suffix, text, 0o600))
	}
	closeStore(t, s)
	return dead
}

func three(i int) []Change {
	value := []byte(strings.Repeat(fmt.Sprint(i%10), 500))
	return []Change{{Fleet, fmt.Sprint(i), value}, {Alias, fmt.Sprint(i), value}, {Fleet, "last", []byte(fmt.Sprint(i))}}
}

// commits returns how many of the commits from crashed a store contains. It returns -1 for a state that the store never
// had.
func commits(s Store) (int, error) {
	fleets, aliases := make(map[string]string), make(map[string]string)
	for kind, m := range map[Kind]map[string]string{Fleet: fleets, Alias: aliases} {
		damaged, err := s.Load(kind, func(id string, v []byte) error { m[id] = string(v); return nil })
		if err != nil {
			return 0, err
		}
		if len(damaged) > 0 {
			return 0, fmt.Errorf("%v of %s", damaged, s.(*SQLite).path)
		}
	}
	n := len(aliases)
	wantF, wantA := make(map[string]string), make(map[string]string)
	for i := range n {
		for _, c := range three(i) {
			map[Kind]map[string]string{Fleet: wantF, Alias: wantA}[c.Kind][c.ID] = string(c.Value)
		}
	}
	if !maps.Equal(fleets, wantF) || !maps.Equal(aliases, wantA) {
		return -1, nil
	}
	return n, nil
}

// reopened opens a damaged store and reads its records. It returns the number of commits or the error.
func reopened(t testing.TB, path string) (int, error) {
	t.Helper()
	s, err := Open(Options{Path: path})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return commits(s)
}

// copyStore copies a store and its log.
func copyStore(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", logSuffix} {
		text := assert.Value(os.ReadFile(from + suffix))(t)
		assert.NoError(t, os.WriteFile(to+suffix, text, 0o600))
	}
	return to
}

// ends returns the offsets at which the transactions of a log end.
func ends(log []byte) (at []int) {
	for end := logHeader + frameHeader + pageSize; end <= len(log); end += frameHeader + pageSize {
		if binary.BigEndian.Uint32(log[end-frameHeader-pageSize+4:]) != 0 {
			at = append(at, end)
		}
	}
	return at
}

// A log that is cut off anywhere contains its complete transactions. RL-22, RL-116.
func TestTornLog(t *testing.T) {
	path := crashed(t)
	log, err := os.ReadFile(path + logSuffix)
	assert.NoError(t, err)
	at := ends(log)
	if len(at) != 10 {
		t.Fatalf("%d transactions in the log", len(at))
	}
	step := 2903
	if testing.Short() {
		step *= 5
	}
	for cut := len(log); cut >= 0; cut -= step {
		torn := copyStore(t, path)
		assert.NoError(t, os.Truncate(torn+logSuffix, int64(cut)))
		want := 5
		for _, end := range at {
			if end <= cut {
				want++
			}
		}
		if got, err := reopened(t, torn); err != nil || got != want {
			t.Errorf("cut at %d of %d: %d commits, %v; want %d", cut, len(log), got, err, want)
		}
	}
}

// A damaged last transaction is dropped, because a power failure may cause such damage. If there is damage before it,
// the store is refused with an error that names the file. RL-22.
func TestDamagedLog(t *testing.T) {
	path := crashed(t)
	log, err := os.ReadFile(path + logSuffix)
	assert.NoError(t, err)
	at := ends(log)
	step := 1471
	if testing.Short() {
		step *= 5
	}
	for i := 0; i < len(log); i += step {
		damaged := copyStore(t, path)
		text := []byte(string(log))
		text[i] ^= 0x41
		assert.NoError(t, os.WriteFile(damaged+logSuffix, text, 0o600))
		got, err := reopened(t, damaged)
		last := i >= at[len(at)-2]
		if i < logHeader && i >= 12 && i < 16 && got == 15 {
			continue // the checkpoint number has no effect
		}
		if last && (err != nil || got != 14) || !last && (err == nil || !strings.Contains(err.Error(), damaged+logSuffix)) {
			t.Errorf("byte %d: %d commits, %v", i, got, err)
		}
	}
}

// A changed byte anywhere in the database is either detected or has no effect.
func TestDamagedDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	for i := range 15 {
		assert.NoError(t, commitNow(s, three(i)...))
	}
	closeStore(t, s)
	assert.NoError(t, os.WriteFile(path+logSuffix, nil, 0o600)) // copyStore expects a log
	whole, err := os.ReadFile(path)
	assert.NoError(t, err)
	step, refused, harmless := 179, 0, 0
	if testing.Short() {
		step = 1223
	}
	for i := 0; i < len(whole); i += step {
		if i > 100 && i < 3900 {
			continue // the unused middle of the first page
		}
		damaged := copyStore(t, path)
		text := []byte(string(whole))
		text[i] ^= 1 << (i % 8)
		assert.NoError(t, os.WriteFile(damaged, text, 0o600))
		switch got, err := reopened(t, damaged); {
		case err != nil && strings.Contains(err.Error(), damaged):
			refused++
		case err == nil && got == 15:
			harmless++
		default:
			t.Errorf("byte %d of %d: %d commits, %v", i, len(whole), got, err)
		}
	}
	t.Logf("%d bytes changed: %d refused, %d harmless", refused+harmless, refused, harmless)
	if refused < harmless {
		t.Error("most of the file are records")
	}
}

func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		make func(path string) error
		want string
	}{
		"half":      {func(p string) error { return cutHalf(t, p) }, "damaged"},
		"log alone": {func(p string) error { return os.WriteFile(p+logSuffix, []byte("x"), 0o600) }, "its log"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			assert.NoError(t, test.make(path))
			s, err := Open(Options{Path: path})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Open(Options{}); err == nil {
		t.Error("no path is good")
	}
	if _, err := Open(Options{Path: filepath.Join(dir, "half", "store.db")}); err == nil {
		t.Error("a folder that is a file is good")
	}
}

func cutHalf(t *testing.T, path string) error {
	s := open(t, path)
	for i := range 15 {
		assert.NoError(t, commitNow(s, three(i)...))
	}
	closeStore(t, s)
	return os.Truncate(path, 2*pageSize)
}

// FuzzOpen changes bytes of a store and its log. The store must either open with a state that it once had or be
// refused.
func FuzzOpen(f *testing.F) {
	path := crashed(f)
	f.Add(false, uint32(100), []byte{1, 2, 3})
	f.Add(false, uint32(4200), []byte{0xff})
	f.Add(true, uint32(0), []byte{0x37})
	f.Add(true, uint32(60), []byte("garbage"))
	f.Fuzz(func(t *testing.T, log bool, at uint32, by []byte) {
		damaged := copyStore(t, path)
		file := damaged
		if log {
			file += logSuffix
		}
		text, err := os.ReadFile(file)
		assert.NoError(t, err)
		copy(text[int64(at)%int64(len(text)):], by)
		assert.NoError(t, os.WriteFile(file, text, 0o600))
		if n, err := reopened(t, damaged); err == nil && n < 14 {
			t.Errorf("%d commits", n)
		}
	})
}

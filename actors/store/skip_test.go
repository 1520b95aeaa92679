package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/messages/counters"
)

// full creates a store with many pages and without a log. It contains 200 records of 500 bytes of each of two kinds.
func full(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	for _, kind := range []Kind{Fleet, PlayerSession} {
		var changes []Change
		for i := range 200 {
			changes = append(changes, Change{kind, fmt.Sprintf("%s-%03d", kind, i), fmt.Appendf(nil, "%s %03d %0500d", kind, i, i)})
		}
		assert.NoError(t, commitNow(s, changes...))
	}
	closeStore(t, s)
	assert.NoError(t, os.Remove(path+lockSuffix))
	return path
}

// flip changes one bit of the file in the value of a record.
func flip(t *testing.T, path, value string) {
	t.Helper()
	text := assert.Value(os.ReadFile(path))(t)
	at := bytes.Index(text, []byte(value))
	if at < 0 {
		t.Fatalf("%q is not there", value)
	}
	text[at] ^= 1
	assert.NoError(t, os.WriteFile(path, text, 0o600))
}

func report(t *testing.T, path string) *Report {
	t.Helper()
	r := assert.Value(OpenReader(path))(t)
	found := assert.Value(r.Check(t.Context()))(t)
	assert.NoError(t, r.Close())
	return found
}

func TestDamagedRecordsAreNamedAndTakenOut(t *testing.T) {
	path := full(t)
	before := listing(t, filepath.Dir(path))
	if r := report(t, path); len(r.Damaged)+len(r.Broken) != 0 || r.Records[Fleet] != 200 || r.Version != 1 {
		t.Errorf("a good store: %+v", r)
	}
	assert.Equal(t, "the check has changed something", listing(t, filepath.Dir(path)) != before, false)
	flip(t, path, "fleet 007 0")
	flip(t, path, "playersession 100 0")
	flip(t, path, "playersession 101 0")
	before = listing(t, filepath.Dir(path))
	r := report(t, path)
	if len(r.Broken) != 0 || len(r.Damaged) != 3 || r.Damaged[0].String() != "fleet fleet-007: has a wrong checksum" || r.Records[PlayerSession] != 198 {
		t.Errorf("%+v", r)
	}
	if text := r.Damaged[1].String(); strings.Contains(text, "playersession-100") {
		t.Errorf("the id of a player session takes the seat: %s", text)
	}
	assert.Equal(t, "the check has changed something", listing(t, filepath.Dir(path)) != before, false)

	s := open(t, path)
	n := 0
	damaged, err := s.Load(PlayerSession, func(string, []byte) error { n++; return nil })
	if err != nil || len(damaged) != 2 || n != 198 || damaged[0].ID != "playersession-100" {
		t.Errorf("%d records, %v", n, err)
	}
	closeStore(t, s)

	var said bytes.Buffer
	count := new(counters.Set)
	s, err = Open(Options{Path: path, SkipDamaged: true, Log: zerolog.New(&said), Counters: count})
	assert.NoError(t, err)
	if fleets, players := all(t, s, Fleet), all(t, s, PlayerSession); len(fleets) != 199 || len(players) != 198 || count.StoreDamaged.Load() != 3 {
		t.Errorf("%d and %d are left, %d counted", len(fleets), len(players), count.StoreDamaged.Load())
	}
	closeStore(t, s)
	kept, err := os.ReadFile(path + DamagedSuffix)
	if err != nil || bytes.Count(kept, []byte("\n")) != 3 || !strings.Contains(said.String(), "fleet fleet-007") {
		t.Errorf("kept %s, said %s: %v", kept, said.String(), err)
	}
	s = open(t, path) // the next start needs no option
	assert.OK(Backup(t.Context(), path, filepath.Join(t.TempDir(), "backup.db")))(t)
	if r := report(t, path); len(r.Damaged)+len(r.Broken) != 0 || r.Records[Fleet] != 199 { // while the store is open
		t.Errorf("%+v", r)
	}
	closeStore(t, s)
}

// A damaged record is copied to the file next to the store before it is overwritten or deleted.
func TestADamagedRecordIsKeptWhenItIsReplaced(t *testing.T) {
	path := full(t)
	flip(t, path, "fleet 007 0")
	flip(t, path, "fleet 008 0")
	flip(t, path, "fleet 009 0")
	var said bytes.Buffer
	s, err := Open(Options{Path: path, Log: zerolog.New(&said)})
	assert.NoError(t, err)
	if damaged, err := s.Load(Fleet, func(string, []byte) error { return nil }); err != nil || len(damaged) != 3 {
		t.Fatalf("%v, %v", damaged, err)
	}
	assert.NoError(t, commitNow(s, Put(Fleet, "fleet-001", 1)))
	if _, err := os.Stat(path + DamagedSuffix); err == nil {
		t.Error("something is kept without need")
	}
	assert.NoError(t, commitNow(s, Put(Fleet, "fleet-007", 1), Delete(Fleet, "fleet-008"), Put(Fleet, "fleet-007", 2)))
	assert.NoError(t, commitNow(s, Put(Fleet, "fleet-007", 3), Delete(Fleet, "fleet-008")))
	closeStore(t, s)
	kept, err := os.ReadFile(path + DamagedSuffix)
	if err != nil || bytes.Count(kept, []byte("\n")) != 2 || !bytes.Contains(kept, []byte("fleet-007")) || !bytes.Contains(kept, []byte("fleet-008")) {
		t.Errorf("kept %s: %v", kept, err)
	}
	if text := said.String(); strings.Count(text, "a damaged record has been replaced") != 2 || !strings.Contains(text, "fleet fleet-007") {
		t.Errorf("said %s", text)
	}
	if r := report(t, path); len(r.Damaged) != 1 || r.Damaged[0].ID != "fleet-009" {
		t.Errorf("%+v", r)
	}
}

// If a page cannot be read, only the records on it are lost.
func TestAStoreWithADamagedPageIsSalvaged(t *testing.T) {
	whole := full(t)
	text, err := os.ReadFile(whole)
	assert.NoError(t, err)
	saved, leaves, step := 0, 0, 7
	if testing.Short() {
		step = 13
	}
	for page := 2; page < len(text)/pageSize; page += step {
		path := filepath.Join(t.TempDir(), "store.db")
		damaged := bytes.Clone(text)
		for i := range pageSize {
			damaged[page*pageSize+i] = 0xff
		}
		assert.NoError(t, os.WriteFile(path, damaged, 0o600))
		if s, err := Open(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "--skip-damaged") {
			t.Errorf("page %d: opened: %v", page, err)
			s.Close()
			continue
		}
		if r := report(t, path); len(r.Broken) == 0 {
			t.Errorf("page %d: the check finds nothing", page)
		}
		s, err := Open(Options{Path: path, SkipDamaged: true, Log: zerolog.Nop()})
		if err != nil {
			t.Errorf("page %d: %v", page, err)
			continue
		}
		n := len(all(t, s, Fleet)) + len(all(t, s, PlayerSession))
		leaves++
		saved += n
		assert.NoError(t, commitNow(s, Put(Fleet, "new", 1)))
		closeStore(t, s)
		if kept, err := os.ReadFile(path + DamagedSuffix + ".1"); err != nil || !bytes.Equal(kept, damaged) {
			t.Errorf("page %d: the damaged store is not kept: %v", page, err)
		}
		closeStore(t, open(t, path))
	}
	if t.Logf("%d of %d records are left on average", saved/max(1, leaves), 400); saved < 300*leaves {
		t.Error("too few")
	}
}

// Check reads the log of a store whose process died, but does not change the log.
func TestCheckReadsTheLog(t *testing.T) {
	path := crashed(t)
	before, err := os.ReadFile(path + logSuffix)
	assert.NoError(t, err)
	if r := report(t, path); len(r.Damaged)+len(r.Broken) != 0 || r.Records[Alias] != 15 {
		t.Errorf("%+v", r)
	}
	if after, err := os.ReadFile(path + logSuffix); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the log has changed: %v", err)
	}
	before[logHeader+100] ^= 1
	assert.NoError(t, os.WriteFile(path+logSuffix, before, 0o600))
	if r := report(t, path); len(r.Broken) == 0 || !strings.Contains(r.Broken[0], "damaged before its end") {
		t.Errorf("%+v", r)
	}
}

package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
)

// subject is a Store for the tests that every Store must pass. reopen closes the store and returns one with the same
// records. It returns nil if the store does not keep its records.
type subject struct {
	Store
	reopen func() Store
}

func subjects(t *testing.T, test func(t *testing.T, s subject)) {
	t.Run("memory", func(t *testing.T) { test(t, subject{Store: new(Memory)}) })
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		s := open(t, path)
		test(t, subject{s, func() Store {
			closeStore(t, s)
			s = open(t, path)
			return s
		}})
		closeStore(t, s)
	})
}

// open opens a store. The end of the test closes it if it is still open.
func open(t testing.TB, path string) *SQLite {
	t.Helper()
	s := assert.Value(Open(Options{Path: path}))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func closeStore(t testing.TB, s Store) {
	t.Helper()
	assert.NoError(t, s.Close())
}

// commitNow commits changes and waits for the answer.
func commitNow(s Store, changes ...Change) error {
	answer := make(chan error, 1)
	s.Commit(changes, func(err error) { answer <- err })
	return <-answer
}

// all returns the records of a kind and checks their order.
func all(t assert.T, s Store, kind Kind) map[string]string {
	t.Helper()
	got, last := make(map[string]string), ""
	_, err := s.Load(kind, func(id string, value []byte) error {
		if len(got) > 0 && id <= last {
			return fmt.Errorf("%q after %q", id, last)
		}
		got[id], last = string(value), id
		return nil
	})
	assert.NoError(t, err)
	return got
}

func TestLoadStopsAtAnError(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		assert.NoError(t, commitNow(s, Put(Fleet, "a", 1), Put(Fleet, "b", 2)))
		stop, calls := errors.New("stop"), 0
		_, err := s.Load(Fleet, func(string, []byte) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%v after %d", err, calls)
		}
	})
}

func TestCommitDuringLoad(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		assert.NoError(t, commitNow(s, Put(Fleet, "a", 1), Put(Fleet, "b", 2)))
		_, err := s.Load(Fleet, func(id string, _ []byte) error {
			s.Commit([]Change{Put(Alias, id, id)}, nil)
			return nil
		})
		assert.NoError(t, err)
		s.Flush()
		if got := all(t, s, Alias); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

func TestLargeValues(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		zip := bytes.Repeat([]byte("0123456789abcdef"), 5_000_000/16)
		assert.NoError(t, commitNow(s, Change{Content, "script-1", zip}, Change{Content, "script-2", zip[:1]}))
		store := s.Store
		if s.reopen != nil {
			store = s.reopen()
		}
		if got := all(t, store, Content); got["script-1"] != string(zip) || got["script-2"] != "0" {
			t.Error("not what was written")
		}
	})
}

func TestIDsAreAnyBytes(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		want := make(map[string]string)
		for _, id := range []string{"", "\x00", "a\x00b", "a", "\xff\xfe", "é", "'; DROP TABLE records; --", strings.Repeat("x", 5000)} {
			assert.NoError(t, commitNow(s, Change{Event, id, []byte("v" + id)}))
			want[id] = "v" + id
		}
		if got := all(t, s, Event); !maps.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

func TestCloseFlushesAndRefuses(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		var mu sync.Mutex
		answered := 0
		for i := range 100 {
			s.Commit([]Change{Put(Fleet, fmt.Sprint(i), i)}, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered++
				}
			})
		}
		closeStore(t, s)
		assert.Equal(t, "answered", answered, 100)
		if err := commitNow(s, Put(Fleet, "x", 1)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		s.Commit([]Change{Put(Fleet, "x", 1)}, nil)
		s.Flush()
		closeStore(t, s)
	})
}

// The commits of one caller are answered in order, and Flush waits for the answers.
func TestAnswersComeInOrder(t *testing.T) {
	subjects(t, func(t *testing.T, s subject) {
		const callers, each = 8, 200
		var order [callers][]int // each is written only in done, which only one goroutine at a time calls
		var mu sync.Mutex
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					s.Commit([]Change{Put(Fleet, fmt.Sprint(c), i), Put(Alias, fmt.Sprint(c), i)}, func(err error) {
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							order[c] = append(order[c], i)
						}
					})
				}
				s.Flush()
				mu.Lock()
				defer mu.Unlock()
				if len(order[c]) != each || !slices.IsSorted(order[c]) {
					t.Errorf("caller %d: %v", c, order[c])
				}
			})
		}
		wg.Wait()
		for c := range callers {
			if got := all(t, s, Fleet)[fmt.Sprint(c)]; got != fmt.Sprint(each-1) {
				t.Errorf("caller %d: the last is %s", c, got)
			}
		}
	})
}

// A store must behave like a map, with any commits from any goroutine and any number of restarts.
func TestStoreIsAMap(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); testing.Short() && f.Value.String() == f.DefValue {
		assert.NoError(t, f.Value.Set("20"))
		defer f.Value.Set(f.DefValue)
	}
	dir := t.TempDir()
	n := 0
	for name, create := range map[string]func() (Store, func(Store) Store){
		"memory": func() (Store, func(Store) Store) { return new(Memory), func(s Store) Store { return s } },
		"sqlite": func() (Store, func(Store) Store) {
			n++
			path := filepath.Join(dir, fmt.Sprint(n), "store.db")
			return open(t, path), func(s Store) Store {
				closeStore(t, s)
				return open(t, path)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s, reopen := create()
				defer func() { s.Close() }()
				model := map[Kind]map[string]string{Fleet: {}, Alias: {}}
				kinds := rapid.SampledFrom([]Kind{Fleet, Alias})
				ids := rapid.StringMatching(`[a-d]{0,2}`)
				same := func() {
					s.Flush()
					for kind, want := range model {
						if got := all(t, s, kind); !maps.Equal(got, want) {
							t.Fatalf("%s: %q, not %q", kind, got, want)
						}
					}
				}
				t.Repeat(map[string]func(*rapid.T){
					"commit": func(t *rapid.T) {
						var changes []Change
						for range rapid.IntRange(0, 5).Draw(t, "changes") {
							c := Change{Kind: kinds.Draw(t, "kind"), ID: ids.Draw(t, "id")}
							if rapid.Bool().Draw(t, "put") {
								c.Value = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "value")
								model[c.Kind][c.ID] = string(c.Value)
							} else {
								delete(model[c.Kind], c.ID)
							}
							changes = append(changes, c)
						}
						s.Commit(changes, nil)
					},
					"compare": func(*rapid.T) { same() },
					"reopen": func(t *rapid.T) {
						if rapid.IntRange(0, 4).Draw(t, "often") == 0 { // a restart costs as much as a hundred commits
							s = reopen(s)
						}
					},
				})
				same()
			})
		})
	}
}

// within fails a test that hangs before the time limit of the whole test run is reached.
func within(t testing.TB, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s: not within %v", what, d)
	}
}

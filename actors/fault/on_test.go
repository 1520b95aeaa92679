//go:build faults

package fault

import (
	"math"
	"slices"
	"testing"
)

func TestSpecifications(t *testing.T) {
	good := map[string][]rule{
		"":                     nil,
		"store.commit=kill:37": {{StoreCommit, kill, 37, 37}},
		"store.commit=error":   {{StoreCommit, fail, 1, math.MaxInt}},
		"store.write=panic:3+": {{StoreWrite, crash, 3, math.MaxInt}},
		"store.write=error:2-4,,store.committed=kill:1": {{StoreWrite, fail, 2, 4}, {StoreCommitted, kill, 1, 1}},
	}
	for spec, want := range good {
		if got, err := parse(spec); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v", spec, got, err)
		}
	}
	for _, spec := range []string{
		"store.commit", "store.commit=", "store.commit=explode", "nowhere=kill", "=kill", "store.commit=kill:", "store.commit=kill:0",
		"store.commit=kill:-1", "store.commit=kill:4-3", "store.commit=kill:x+", "store.commit=kill:1:2", "store.commit=error:99999999999999999999",
	} {
		if rules, err := parse(spec); err == nil {
			t.Errorf("%q: %v", spec, rules)
		}
	}
}

func TestHits(t *testing.T) {
	if err := Set("store.write=error:2-3"); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true, true, false} {
		if Hit(StoreWrite) != want {
			t.Errorf("hit %d", n+1)
		}
	}
	if Hit(StoreCommit) || Hits(StoreWrite) != 4 || Set("none=kill") == nil {
		t.Error("wrong")
	}
	if err := Set("store.write=panic"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Hit(StoreWrite)
}

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/store"
)

func storeConfig(t *testing.T) Config {
	c := config(t)
	c.Store = Store{Path: filepath.Join(t.TempDir(), "deep", "store.db")}
	return c
}

func TestStoreIsOpenWhileTheHostRuns(t *testing.T) { synctest.Test(t, storeIsOpenWhileTheHostRuns) }

func storeIsOpenWhileTheHostRuns(t *testing.T) {
	c, at := storeConfig(t), memory(t)
	for range 2 { // it is let go at the end
		h, err := Start(Options{Config: c, Network: at})
		if err != nil {
			t.Fatal(err)
		}
		_, again := store.Open(store.Options{Path: c.Store.Path})
		_, second := Start(Options{Config: c, Network: at})
		h.Close()
		for _, err := range []error{again, second} {
			if err == nil || !strings.Contains(err.Error(), "another process has it open: process ") || !strings.Contains(err.Error(), c.Store.Path) {
				t.Errorf("taken twice: %v", err)
			}
		}
	}
}

func TestHostDoesNotStartWithoutItsStore(t *testing.T) {
	synctest.Test(t, hostDoesNotStartWithoutItsStore)
}

func hostDoesNotStartWithoutItsStore(t *testing.T) {
	c, at := storeConfig(t), memory(t)
	c.Store.Path = filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(c.Store.Path, []byte("something else, for sure"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Config: c, Network: at}); err == nil || !strings.Contains(err.Error(), "store.path") || !strings.Contains(err.Error(), c.Store.Path) {
		t.Errorf("%v", err)
	}
	c.Store = Store{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "store.path: must name a file, or store.memory be true") {
		t.Errorf("%v", err)
	}
}

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/actors/store"
)

func storeConfig(t *testing.T) Config {
	c := Defaults()
	for _, addr := range []*string{&c.API.Addr, &c.WebSocket.Addr, &c.Fast.Addr} {
		*addr = "127.0.0.1:0"
	}
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = t.TempDir()
	c.Store = Store{Path: filepath.Join(t.TempDir(), "deep", "store.db")}
	return c
}

func TestStoreIsOpenWhileTheHostRuns(t *testing.T) {
	c := storeConfig(t)
	for range 2 { // it is let go at the end
		h, err := Start(Options{Config: c, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		_, again := store.Open(store.Options{Path: c.Store.Path})
		_, second := Start(Options{Config: c, Log: zerolog.Nop()})
		h.Close()
		for _, err := range []error{again, second} {
			if err == nil || !strings.Contains(err.Error(), "another process has it open: process ") || !strings.Contains(err.Error(), c.Store.Path) {
				t.Errorf("taken twice: %v", err)
			}
		}
	}
}

func TestHostDoesNotStartWithoutItsStore(t *testing.T) {
	c := storeConfig(t)
	c.Store.Path = filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(c.Store.Path, []byte("something else, for sure"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Config: c, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), "store.path") || !strings.Contains(err.Error(), c.Store.Path) {
		t.Errorf("%v", err)
	}
	c.Store = Store{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "store.path: must name a file, or store.memory be true") {
		t.Errorf("%v", err)
	}
}

package ops_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/sessionlog"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

// A log that cannot be read to its end is not taken for a whole one, in any format.
func TestALogThatCannotBeReadIsBrokenOff(t *testing.T) {
	dir := t.TempDir()
	store, err := sessionlog.Open(dir, sessionlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := store.Open(ended)
	k.Write(script.Line{Text: "hello"})
	k.Close()
	log, err := store.Follow(t.Context(), ended)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(log); err != nil || !strings.Contains(string(all), "hello") {
		t.Fatalf("%q, %v", all, err)
	}
	log.Close()
	logs := ops.NewLogs(store, "", nil)
	pages := ops.New(ops.Options{Counters: new(counters.Set), Version: "v", Logs: logs}).Mux(http.NotFoundHandler())
	t.Cleanup(store.Close)
	signed, ok := logs.URL(&messages.GameSession{ID: ended, Terminated: time.Now()}, false)
	if !ok {
		t.Fatal("no URL")
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // as a disk that fails
		if err == nil && d.Type().IsRegular() {
			if err = os.Remove(path); err == nil {
				err = os.Mkdir(path, 0o700)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/debug/gamesession-log?id=ended", "/debug/gamesession-log?follow=1&id=ended", signed + "&format=text"} {
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if p := recover(); p == nil && w.Code == http.StatusOK || p != nil && p != http.ErrAbortHandler {
					t.Errorf("%s: %v, %d %q", path, p, w.Code, w.Body)
				}
			}()
			pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		}()
	}
}

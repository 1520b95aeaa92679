package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/store"
)

func TestStoreCheckNamesWhatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s.Commit([]store.Change{
		{Kind: store.Fleet, ID: "fleet-senseless", Value: []byte("{")},
		{Kind: store.Event, ID: "event-senseless", Value: []byte("{}")},
		{Kind: store.Alias, ID: "alias-rotten", Value: []byte(`{"Alias":{"ID":"alias-rotten"}}`)},
		store.Put(store.Script, "script-empty", map[string]any{"Script": map[string]any{"ID": "script-empty", "Contents": 1}}),
	}, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte(`{"Alias"`))] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if code := run([]string{"store", "check", "--store", path}, streams{out: &out, err: &said}); code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"damaged: alias alias-rotten: has a wrong checksum\n         the alias is gone, or, ",
		"damaged: fleet fleet-senseless: cannot be read: ",
		"damaged: event event-senseless: is not complete\n         nobody is told of the event\n",
		"damaged: content script-empty: the newest content of script script-empty: is not in the store\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if !strings.Contains(said.String(), "4 faults: a host starts without these records") {
		t.Errorf("%s\n%s", out.String(), said.String())
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNoticesAreCurrent checks only the platform of the test, and only names and versions. make lint compares all
// platforms and the full texts.
func TestNoticesAreCurrent(t *testing.T) {
	t.Setenv("GOPROXY", "off") // all linked modules are in the module cache
	modules, err := linked("troupe/cmd/troupe", []string{runtime.GOOS + "/" + runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, noticesFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 20 {
		t.Errorf("only %d modules are linked", len(modules))
	}
	for _, m := range modules {
		if !strings.Contains(string(text), "\n"+m.path+" "+m.version+"\n") {
			t.Errorf("%s %s is not in it: make notices", m.path, m.version)
		}
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	dir := t.TempDir()
	m := &module{path: "example.com/x", version: "v1.0.0", dir: dir, packages: map[string]bool{filepath.Join(dir, "a", "b"): true}}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := write(&got, []*module{m}); err == nil || !strings.Contains(err.Error(), "example.com/x v1.0.0 has no licence") {
		t.Errorf("got %v", err)
	}
	for name, text := range map[string]string{"LICENSE.md": "root\r\n\r\n", "a/COPYING": "of a", "a/b/license.go": "no", "a/b/NOTICE.txt": "of b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got.Reset()
	if err := write(&got, []*module{m}); err != nil {
		t.Fatal(err)
	}
	const want = "example.com/x v1.0.0\n\n--- LICENSE.md\n\nroot\n\n--- a/COPYING\n\nof a\n\n--- a/b/NOTICE.txt\n\nof b\n\n"
	if !strings.HasSuffix(got.String(), want) {
		t.Errorf("got %q", &got)
	}
}

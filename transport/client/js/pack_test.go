package js_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// The npm package must contain the licence of the project. It has a copy, because npm packs no file from outside the folder.
func TestThePackageHasTheLicence(t *testing.T) {
	ours, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if project, err := os.ReadFile("../../../LICENSE"); err != nil || !bytes.Equal(ours, project) {
		t.Errorf("transport/client/js/LICENSE is not the LICENSE of the project: copy it (%v)", err)
	}
	wholeOnly(t)
	npm, err := exec.LookPath("npm")
	if err != nil {
		if *required {
			t.Fatal(err)
		}
		t.Skip("npm is not on PATH: what it packs is not looked at")
	}
	pack := exec.Command(npm, "pack", "--dry-run", "--json", "--offline", "--ignore-scripts", "--no-update-notifier", "--cache", t.TempDir())
	var said bytes.Buffer
	pack.Stderr = &said
	out, err := pack.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	var packages []struct {
		Files []struct {
			Path string
			Size int
		}
	}
	if err := json.Unmarshal(out, &packages); err != nil || len(packages) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	for _, f := range packages[0].Files {
		names = append(names, f.Path)
		if f.Path == "LICENSE" && f.Size != len(ours) {
			t.Errorf("a LICENSE of %d bytes", f.Size)
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "dist/client.js", "package.json"} {
		if !slices.Contains(names, name) {
			t.Errorf("npm packs no %s: %v", name, names)
		}
	}
}

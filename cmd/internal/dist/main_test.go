package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// entries returns the mode and the content of each file in an archive.
func entries(t *testing.T, name string, text []byte) (modes map[string]fs.FileMode, contents map[string]string) {
	t.Helper()
	modes, contents = map[string]fs.FileMode{}, map[string]string{}
	keep := func(name string, mode fs.FileMode, r io.Reader) {
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		modes[name], contents[name] = mode.Perm(), string(content)
	}
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			keep(f.Name, f.Mode(), r)
		}
		return modes, contents
	}
	g, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(g)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return modes, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		keep(h.Name, h.FileInfo().Mode(), r)
	}
}

func TestArchivesHoldWhatTheyShould(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	for platform, want := range map[string]struct{ name, executable string }{
		"linux-amd64": {"troupe-1.2.3-linux-amd64.tar.gz", "troupe"}, "windows-arm64": {"troupe-1.2.3-windows-arm64.zip", "troupe.exe"},
	} {
		printed := []made{{name: "completion/troupe.bash", text: []byte("complete")}}
		name, text, err := archive(root, "1.2.3-"+platform, []byte("the binary"), printed, at)
		if err != nil || name != want.name {
			t.Fatalf("%s, %v", name, err)
		}
		if _, again, err := archive(root, "1.2.3-"+platform, []byte("the binary"), printed, at); err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: the second archive differs: %v", name, err)
		}
		modes, contents := entries(t, name, text)
		folder := "troupe-1.2.3-" + platform + "/"
		if modes[folder+want.executable] != 0o755 || contents[folder+want.executable] != "the binary" {
			t.Errorf("%s: the binary is not there, or cannot be executed: %v", name, modes)
		}
		for _, f := range []string{"LICENSE", "THIRD_PARTY_NOTICES", "README.md", "CHANGELOG.md", "troupe.service", "kubernetes.yaml", "troupe.schema.json"} {
			if modes[folder+f] != 0o644 || len(contents[folder+f]) < 500 {
				t.Errorf("%s: %s is missing or empty", name, f)
			}
		}
		if !strings.Contains(contents[folder+"THIRD_PARTY_NOTICES"], "github.com/pion/dtls") || contents[folder+"completion/troupe.bash"] != "complete" || len(modes) != 9 {
			t.Errorf("%s: %v", name, slices.Sorted(maps.Keys(modes)))
		}
	}
}

// A test binary is built without the commit.
func TestABinaryWithoutItsCommitIsRefused(t *testing.T) {
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := stamped(binary); err == nil || !strings.Contains(err.Error(), "does not know its commit") {
		t.Errorf("%v", err)
	}
}

func TestSystemdUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "packaging", "troupe.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ExecStart=/usr/local/bin/troupe serve ", "ExecReload=/bin/kill -HUP $MAINPID", "NoNewPrivileges=yes", "ProtectSystem=strict"} {
		if !bytes.Contains(text, []byte("\n"+want)) {
			t.Errorf("no %s", want)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: the unit is not verified by systemd")
	}
	// The binary is not installed here. Only the unit is checked.
	unit := filepath.Join(t.TempDir(), "troupe.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/troupe"), []byte("/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "troupe.service") {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
	if err != nil && len(out) == 0 {
		t.Errorf("systemd-analyze: %v", err)
	}
}

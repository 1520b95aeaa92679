package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// repository copies the files of the working tree into a new repository with one commit. The copy is needed because a
// release records its commit hash, and Go cannot determine the hash in a linked worktree or a source archive.
func repository(t *testing.T) string {
	t.Helper()
	git := func(dir string, args ...string) string {
		c := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		c.Dir = dir
		var said bytes.Buffer
		c.Stderr = &said
		out, err := c.Output()
		if err != nil {
			t.Skipf("not in a git repository, so no release can be built: git %s: %v: %s", args[0], err, &said)
		}
		return string(out)
	}
	dir := t.TempDir()
	for _, name := range strings.Split(strings.TrimRight(git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Stat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, but the deletion is not committed yet
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	git(dir, "init", "--quiet")
	git(dir, "add", "--all")
	git(dir, "commit", "--quiet", "--no-verify", "--message", "all")
	return dir
}

// make dist writes an archive with all required files. Its binary runs and contains its commit. The checksums match the
// archive.
func TestMakeDist(t *testing.T) {
	if testing.Short() {
		t.Skip("links a release")
	}
	tool, err := exec.LookPath("make")
	if err != nil {
		t.Skip("make is not installed")
	}
	dir := repository(t)
	platform := runtime.GOOS + "/" + runtime.GOARCH
	c := exec.Command(tool, "dist", "PLATFORMS="+platform)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, even if this test runs with the race detector
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("make dist: %v\n%s", err, out)
	}
	dist := filepath.Join(dir, "bin", "dist")
	folder := "troupe-" + version(t) + "-" + runtime.GOOS + "-" + runtime.GOARCH
	archive, executable := folder+".tar.gz", "troupe"
	if runtime.GOOS == "windows" {
		archive, executable = folder+".zip", "troupe.exe"
	}
	written, err := os.ReadDir(dist)
	if err != nil || len(written) != 2 {
		t.Errorf("%v %v", written, err)
	}
	text, err := os.ReadFile(filepath.Join(dist, archive))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(text), archive); err != nil || string(sums) != want {
		t.Errorf("SHA256SUMS has %q, want %q (%v)", sums, want, err)
	}

	modes, contents := entries(t, archive, text)
	for _, f := range files {
		inTree, err := os.ReadFile(filepath.Join(root, f.from))
		if name := folder + "/" + f.name; err != nil || contents[name] != string(inTree) || modes[name] != 0o644 {
			t.Errorf("%s is not %s of the tree: %v, %v", name, f.from, modes[name], err)
		}
	}
	if licence, err := os.ReadFile(filepath.Join(root, "LICENSE")); err != nil || contents[folder+"/LICENSE"] != string(licence) {
		t.Errorf("the archive's LICENSE is not that of the project (%v)", err)
	}
	printed := map[string]string{
		"completion/troupe.bash": "complete", "completion/_troupe": "#compdef", "completion/troupe.fish": "complete",
	}
	for name, part := range printed {
		if name = folder + "/" + name; !strings.Contains(contents[name], part) || strings.Contains(contents[name], "troupe.exe") {
			t.Errorf("%s has no %s, or another name of the binary: %.200q", name, part, contents[name])
		}
	}
	if len(contents) != len(files)+len(printed)+1 {
		t.Errorf("%d files: %v", len(contents), modes)
	}
	binary := contents[folder+"/"+executable]
	if err := stamped([]byte(binary)); err != nil || modes[folder+"/"+executable] != 0o755 {
		t.Error(err, modes)
	}
	run := filepath.Join(t.TempDir(), executable)
	if err := os.WriteFile(run, []byte(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(run, "version").CombinedOutput()
	head, _ := exec.Command("git", "-C", dir, "rev-parse", "--short=7", "HEAD").Output()
	if commit := strings.TrimSpace(string(head)); err != nil || commit == "" || !strings.HasPrefix(string(out), "troupe "+version(t)+"\ncommit "+commit) {
		t.Errorf("troupe version says %q and not its version and commit %s: %v", out, commit, err)
	}
}

// version returns the version of the first section in the changelog.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(text), "\n## ")
	first, _, _ := strings.Cut(sections, "\n")
	return first
}

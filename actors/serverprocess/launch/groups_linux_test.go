package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/messages"
)

// hierarchy makes what a kernel shows of a control group, with the controllers that the host may use.
func hierarchy(t *testing.T, controllers string) (mount string) {
	t.Helper()
	mount = t.TempDir()
	dir := filepath.Join(mount, "system.slice", "troupe.service")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, "cgroup.controllers", controllers+"\n"); err != nil {
		t.Fatal(err)
	}
	return mount
}

const ownGroup = "4:memory:/x\n0::/system.slice/troupe.service\n"

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestControlGroupsAreMadeBelowThatOfTheHost(t *testing.T) {
	mount := hierarchy(t, "cpuset cpu io memory pids")
	root, err := makeRoot(mount, []byte(ownGroup), 7)
	if want := filepath.Join(mount, "system.slice", "troupe.service", "troupe-servers-7"); err != nil || root != want {
		t.Fatalf("%s, %v", root, err)
	}
	for _, dir := range []string{root, filepath.Dir(root)} {
		if got := content(t, dir, "cgroup.subtree_control"); got != "+cpu +memory" {
			t.Errorf("%s: %q", dir, got)
		}
	}
	g, err := makeGroup(filepath.Join(root, "1"), &messages.GameServer{MemoryMax: 64 << 20, CPUs: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, root, "1", "memory.max") + "; " + content(t, root, "1", "cpu.max"); got != "67108864; 50000 100000" {
		t.Error(got)
	}
	if g.outOfMemory() {
		t.Error("out of memory")
	}
	if err := write(g.dir, "memory.events", "low 0\noom 1\noom_kill 2\n"); err != nil || !g.outOfMemory() {
		t.Errorf("not out of memory, %v", err)
	}
	g.remove()
	if got := content(t, root, "1", "cgroup.kill"); got != "1" {
		t.Error(got)
	}
	if g, err := new(groups).take(&messages.GameServer{}); g != nil || err != nil {
		t.Errorf("without limits: %v, %v", g, err)
	}
}

func TestWhyThereAreNoControlGroups(t *testing.T) {
	for want, try := range map[string]func() (string, error){
		"no control groups of version 2": func() (string, error) { return makeRoot(t.TempDir(), []byte("4:memory:/x\n"), 7) },
		"has no controller memory":       func() (string, error) { return makeRoot(hierarchy(t, "cpuset cpu pids"), []byte(ownGroup), 7) },
		"no such file or directory":      func() (string, error) { return makeRoot(t.TempDir(), []byte(ownGroup), 7) },
	} {
		if root, err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", want, root, err)
		}
	}
}

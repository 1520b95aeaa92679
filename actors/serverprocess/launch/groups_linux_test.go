package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"troupe/actors/child/cgroup"
	"troupe/actors/serverprocess"
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
	if err := cgroup.Write(dir, "cgroup.controllers", controllers+"\n"); err != nil {
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
	base, err := baseOf(mount, ownGroup)
	if err != nil {
		t.Fatal(err)
	}
	root, err := makeRoot(base, 7)
	if want := filepath.Join(mount, "system.slice", "troupe.service", "troupe-servers-7"); err != nil || root != want {
		t.Fatalf("%s, %v", root, err)
	}
	for _, dir := range []string{root, filepath.Dir(root)} {
		if got := content(t, dir, "cgroup.subtree_control"); got != "+cpu +memory +pids" {
			t.Errorf("%s: %q", dir, got)
		}
	}
	g, err := makeGroup(filepath.Join(root, "1"), &messages.GameServer{MemoryMax: 64 << 20, CPUs: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, root, "1", "memory.max") + "; " + content(t, root, "1", "cpu.max") + "; " + content(t, root, "1", "pids.max"); got != "67108864; 50000 100000; 1000" {
		t.Error(got)
	}
	if g.outOfMemory() {
		t.Error("out of memory")
	}
	if err := cgroup.Write(g.dir, "memory.events", "low 0\noom 1\noom_kill 2\n"); err != nil || !g.outOfMemory() {
		t.Errorf("not out of memory, %v", err)
	}
	g.remove()
	if got := content(t, root, "1", "cgroup.kill"); got != "1" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(root), "cgroup.subtree_control")); err != nil {
		t.Fatal(err)
	}
	if err := cgroup.Write(filepath.Dir(root), "cgroup.controllers", "cpu memory\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := makeRoot(base, 8); err != nil || content(t, base, "cgroup.subtree_control") != "+cpu +memory" {
		t.Errorf("without the controller of tasks: %v", err)
	}
	if g, err := new(groups).take(&messages.GameServer{}); g != nil || err != nil {
		t.Errorf("without limits: %v, %v", g, err)
	}
}

// What a host that was killed has left is removed, also if it had the process id that this one has. Those of others stay.
func TestControlGroupsOfEarlierHosts(t *testing.T) {
	mount := hierarchy(t, "cpu memory")
	base := filepath.Join(mount, "system.slice", "troupe.service")
	const gone = 1<<30 - 1 // above what the kernel gives away
	own, other := 7, os.Getpid()
	for _, pid := range []int{own, other, gone} {
		if err := os.MkdirAll(filepath.Join(base, groupsPrefix+strconv.Itoa(pid), "1"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sweepGroups(base, own)
	left, _ := filepath.Glob(filepath.Join(base, groupsPrefix+"*", "1", "cgroup.kill"))
	if len(left) != 2 { // files of a kernel's group would not keep it
		t.Errorf("killed: %q", left)
	}
	for _, path := range left {
		if strings.Contains(path, groupsPrefix+strconv.Itoa(other)) {
			t.Errorf("killed: %s", path)
		}
	}
}

func TestWhyThereAreNoControlGroups(t *testing.T) {
	for want, try := range map[string]struct{ mount, own string }{
		"no control groups of version 2": {t.TempDir(), "4:memory:/x\n"},
		"has no controller memory":       {hierarchy(t, "cpuset cpu pids"), ownGroup},
		"no such file or directory":      {t.TempDir(), ownGroup},
	} {
		base, err := baseOf(try.mount, try.own)
		if err == nil {
			_, err = makeRoot(base, 7)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Without a control group, a process that takes more memory than it may is killed, and the event says so.
func TestMemoryIsLimited(t *testing.T) {
	o := newOwner(t, nil)
	s := self(t, "memory")
	s.MemoryMax, s.CPUs = 64<<20, 0.5
	o.groups.err = errors.New("no groups here")
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	if e := next[Event](o); e.Code != eventGeneric || !strings.Contains(e.Text, "no groups here") {
		t.Errorf("%+v", e)
	}
	if e := next[Event](o); e.Code != serverprocess.EventCrashed || !strings.Contains(e.Text, "more than 64 MiB") {
		t.Errorf("%+v", e)
	}
}

// A kernel that lets this process divide its control group limits what a server and all that it starts take.
func TestControlGroupsOfTheKernel(t *testing.T) {
	o := newOwner(t, nil)
	probe, err := o.groups.take(&messages.GameServer{MemoryMax: 1 << 30})
	if err != nil {
		t.Skip(err)
	}
	probe.remove()
	s := self(t, "memory")
	s.MemoryMax = 64 << 20
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	if e := next[Event](o); e.Code != serverprocess.EventCrashed || !strings.Contains(e.Text, "out of memory: more than 64 MiB") {
		t.Errorf("%+v", e)
	}
	o.Configure(fleet, s, "here", nil)
	s = shell(`n=0; while test $n -lt 30000; do n=$((n+1)); done; cat /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/cpu.stat; exec sleep 1000`)
	s.CPUs = 0.1
	o.Configure("fleet-cpu", s, "here", map[string]int{"here": 1})
	o.logged(`"message":"nr_throttled `)
	o.log.mu.Lock()
	if text := strings.Join(o.log.all, ""); strings.Contains(text, `"message":"nr_throttled 0"`) {
		t.Errorf("processors are not limited: %s", text)
	}
	o.log.mu.Unlock()
	root := o.groups.root
	o.Close()
	if there(root) {
		t.Errorf("%s is left", root)
	}
}

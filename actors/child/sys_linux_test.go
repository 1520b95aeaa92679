package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 (a) b) S 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615"))
	f.Add([]byte("1 (z) Z 1 7 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(b); ok && (p.CPU < 0 || p.RSS < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func TestParseStat(t *testing.T) {
	p, ok := parseStat([]byte("1 (a) b) S 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615"))
	if !ok || p.group != 7 || p.CPU != 2*time.Second || p.RSS != 3*int64(os.Getpagesize()) {
		t.Errorf("%+v, %v", p, ok)
	}
	if _, ok := parseStat([]byte("1 (z) Z 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615")); ok {
		t.Error("a zombie counts")
	}
	if p, ok := parseStat([]byte("1 (z) Z 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 2 0 5 1000 0 18446744073709551615")); !ok || !p.headless || p.group != 7 {
		t.Errorf("a process with one of two threads: %+v, %v", p, ok)
	}
}

// On a busy machine, the keeper has to wait for a processor while it samples. It must still sample as often.
func TestABusyMachineIsNoReasonToWatchLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeeper(newTag(false))
		k.launch = func(Start, Tag, int) (pid int, err error) { return 1, nil }
		k.sample = func(Tag) (marked, groups map[int]Usage) {
			time.Sleep(time.Second)
			return nil, nil
		}
		go k.Run()
		samples := make(chan time.Time, 100)
		serial, err := k.start(Start{Use: func(Usage) { samples <- time.Now() }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			<-samples
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("three samples took %v", d)
		}
		k.ended(serial)
		k.Stop()
	})
}

// Hosts in containers number their processes and children independently, but a host outside sees the
// processes of all. So a mark must identify the program and the child.
func TestAMarkIsOfOneProgramAndChild(t *testing.T) {
	one, two := newTag(false), newTag(false)
	var all []*exec.Cmd
	for _, m := range []struct {
		tag    Tag
		serial int
	}{{one, 7}, {one, 8}, {two, 7}} {
		cmd := exec.CommandContext(t.Context(), "sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tame(cmd.Process.Pid, Limits{}, m.tag, m.serial)
		if got := m.tag.marked(cmd.Process.Pid); got != m.serial {
			t.Errorf("marked %d, want %d", got, m.serial)
		}
		all = append(all, cmd)
	}
	lives := func() (lives [3]bool) {
		for i, cmd := range all {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
			_, lives[i] = parseStat(stat)
		}
		return lives
	}
	for _, k := range []struct {
		serial int
		want   [3]bool
	}{{9, [3]bool{true, true, true}}, {7, [3]bool{false, true, true}}, {0, [3]bool{false, false, true}}} {
		KillMarked(one, k.serial)
		for until := time.Now().Add(time.Minute); lives() != k.want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("after the end of %d: alive %v, want %v", k.serial, lives(), k.want)
			}
		}
	}
	_ = all[2].Process.Kill()
	for _, cmd := range all {
		_ = cmd.Wait()
	}
}

// A child may start another process before the host has marked it.
func TestWhatAChildHasStartedBeforeItIsMarked(t *testing.T) {
	cmd := exec.Command("sh", "-c", "setsid sleep 1000 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := cmd.Process.Pid
	var all []int
	for until := time.Now().Add(time.Minute); len(all) == 0; time.Sleep(time.Millisecond) {
		if all = childrenOf(first); time.Now().After(until) {
			t.Skip("this kernel does not show the children of a process") // CONFIG_PROC_CHILDREN
		}
	}
	tag := newTag(false)
	tame(first, Limits{FilesMax: 77}, tag, 5)
	for _, p := range append(all, first) {
		limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p))
		adj, _ := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p))
		got := strings.Join(strings.Fields(string(limits)), " ")
		if tag.marked(p) != 5 || string(adj) != "1000\n" || !strings.Contains(got, "Max core file size 0 0 ") || !strings.Contains(got, "Max open files 77 77 ") {
			t.Errorf("%d of %d: mark %d, %s%s", p, first, tag.marked(p), adj, limits)
		}
	}
	KillMarked(tag, 5)
	_ = cmd.Wait()
}

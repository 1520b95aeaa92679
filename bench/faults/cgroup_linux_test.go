package faults

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"troupe/bench/faults/cgroup"
)

const cgroupEnv = "TROUPE_TEST_CGROUP"

func init() { children[cgroupEnv] = useMemory }

// useMemory allocates memory, one MiB at a time, until the process is killed.
func useMemory(string) {
	kept := make([][]byte, 0, 1024)
	for len(kept) < cap(kept) {
		mib := make([]byte, 1<<20)
		for i := 0; i < len(mib); i += 4096 {
			mib[i] = 1
		}
		kept = append(kept, mib)
	}
	runtime.KeepAlive(kept)
}

// The kernel kills a process that uses more than its group may. This test is not parallel, because this process is in
// the group while it starts the other process.
func TestAProcessThatUsesMoreIsKilled(t *testing.T) {
	const most = 64 << 20
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	g, err := cgroup.New(most)
	if errors.Is(err, cgroup.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), cgroupEnv+"=1")
	if err := g.Do(cmd.Start); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
		t.Errorf("%v: this process is in %s, and was in %s", err, after, before)
	}
	err = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %v", err)
	}
	if n, err := g.Kills(); err != nil || n != 1 {
		t.Errorf("%d kills, %v", n, err)
	}
	// The kernel charges some of its own pages even if the limit is reached.
	const kernel = 1 << 20
	if n := g.Peak(); n != 0 && (n < most/2 || n > most+kernel) {
		t.Errorf("%d bytes at most", n)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

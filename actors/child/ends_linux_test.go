package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const headless = "CHILD_TEST_HEADLESS"

// init makes this test binary a process whose first thread ends while others live, if the variable is set. It has 32 MiB of
// memory. The runtime calls init on the first thread.
func init() {
	if os.Getenv(headless) == "" {
		return
	}
	go func() {
		all := make([]byte, 32<<20)
		for i := range all {
			all[i] = 1
		}
		time.Sleep(time.Hour)
		runtime.KeepAlive(all)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// start starts a child of a Keeper, which ends with the test.
func start(t *testing.T, cmd *exec.Cmd) (*Keeper, *Process) {
	t.Helper()
	k := NewKeeper(newTag(false))
	go k.Run()
	p, err := k.Start(Start{Cmd: cmd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Gone()
		p.Bury()
		if KillMarked(k.tag, 0); k.tag.search(0).any() {
			t.Error("a process is left")
		}
		k.Stop()
	})
	return k, p
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not seen: %s", what)
		}
	}
}

// A process whose first thread has ended looks like a zombie, but lives, and takes memory.
func TestAProcessLivesWithoutItsFirstThread(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), headless+"=1")
	k, p := start(t, cmd)
	await(t, "a first thread that has ended", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return strings.Contains(string(stat), ") Z ")
	})
	await(t, "its memory", func() bool {
		marked, _ := sample(k.tag)
		return marked[p.serial].RSS > 32<<20
	})
	if got := slices.Collect(k.tag.search(p.serial).all()); !slices.Equal(got, []int{cmd.Process.Pid}) || !p.rest().lives() {
		t.Errorf("alive: %v", got)
	}
	if !KillMarked(k.tag, p.serial) {
		t.Error("it may be alive")
	}
	<-p.Gone()
	if p.rest().lives() {
		t.Error("it lives after its end")
	}
}

// A child has its mark before it can do anything.
func TestAChildIsMarkedWhenItStarts(t *testing.T) {
	tag := newTag(false)
	cmd := exec.Command("sh", "-c", "setsid sleep 1000 & exit")
	if err := startMarked(tag, 5, cmd.Start); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !tag.search(0).any() || tag.search(4).any() {
		t.Error("what it has left is not found")
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil || own.Cur != own.Max {
		t.Errorf("%v, %+v", err, own)
	}
	KillMarked(tag, 0)
	await(t, "its end", func() bool { return !tag.search(0).any() })
}

// A child with a mark of another kind does not start while this process has one, which it would inherit.
func TestAChildInheritsNoMarkOfAnother(t *testing.T) {
	ended := make(chan error)
	_ = startMarked(newTag(false), 5, func() error {
		go func() {
			ended <- startMarked(newTag(true), 1, func() error {
				var own unix.Rlimit
				if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil || own.Cur != own.Max {
					return fmt.Errorf("%v, %+v", err, own)
				}
				return nil
			})
		}()
		for range 1000 {
			runtime.Gosched()
		}
		return nil
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A process that always starts another one and ends is never lost, and can be killed.
func TestAProcessThatForksAndEndsDoesNotEscape(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hop")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ntest -e \"$0.end\" || setsid \"$0\" &\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(path+".end", nil, 0o644) }) // if it is lost
	k, p := start(t, exec.Command("sh", "-c", path))
	<-p.Gone()
	for range 100 {
		if r := p.rest(); !r.lives() {
			t.Fatal("it is lost")
		}
	}
	if !KillMarked(k.tag, p.serial) {
		t.Error("some may be alive")
	}
	await(t, "their end", func() bool { return !p.rest().lives() })
}

// What a Keeper starts as another user gains no privileges, and that user cannot fill the machine with processes.
func TestAnotherUserIsConfined(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts processes as another user")
	}
	const own = "grep -e NoNewPrivs -e 'Max processes' -e 'Max core' /proc/self/status /proc/self/limits > "
	u := User{UID: 65534, GID: 65534}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	most := tasksMax(readText)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		t.Fatal(err)
	}
	most = min(most, was.Max)
	k := NewKeeper(NewTag(u))
	go k.Run()
	defer k.Stop()
	out := filepath.Join(dir, "out")
	p, err := k.Start(Start{Cmd: exec.Command("/bin/sh", "-c", own+out), User: u})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Marked() {
		t.Error("it has no mark")
	}
	<-p.Gone()
	p.Bury()
	text, err := os.ReadFile(out)
	got := strings.Join(strings.Fields(string(text)), " ")
	if err != nil || !strings.Contains(got, "Max core file size 0 0") || !strings.Contains(got, "NoNewPrivs: 1") || !strings.Contains(got, fmt.Sprintf("Max processes %d %[1]d", most)) {
		t.Errorf("%v, %s, want at most %d processes", err, got, most)
	}
}

func TestAUserMayHaveHalfOfTheTasks(t *testing.T) {
	files := map[string]string{"/proc/sys/kernel/threads-max": "60000", "/proc/sys/kernel/pid_max": "32768"}
	read := func(path string) string { return files[path] }
	for _, try := range []struct {
		path, text string
		want       uint64
	}{
		{"/proc/self/cgroup", "8:pids:/\n0::/system.slice/troupe.service/troupe", 16384},
		{"/sys/fs/cgroup/system.slice/troupe.service/troupe/pids.max", "max", 16384},
		{"/sys/fs/cgroup/system.slice/troupe.service/pids.max", "4915", 2457},
		{"/sys/fs/cgroup/pids.max", "100", 50},
	} {
		files[try.path] = try.text
		if got := tasksMax(read); got != try.want {
			t.Errorf("%s: %d, want %d", try.path, got, try.want)
		}
	}
}

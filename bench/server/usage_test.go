package server

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	// The name deliberately contains blanks and parentheses.
	line := "4711 (a) b (c 1) S 1 2 3 0 -1 4194560 100 0 0 0 123 45 6 7 20 0 9 0 100000 1000000 500 18446744073709551615"
	own, ended, err := parseStat([]byte(line))
	if err != nil || own != (cpuTime{1230 * time.Millisecond, 450 * time.Millisecond}) || ended != (cpuTime{60 * time.Millisecond, 70 * time.Millisecond}) {
		t.Errorf("own %v, ended %v, %v", own, ended, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "1 (x) S 1 2 3 0 -1 0 0 0 0 0 x 45 0 0 0"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	got := parseStatus([]byte("Name:\tx\nVmHWM:\t  9000 kB\nVmRSS:\t    8192 kB\nThreads:\t4\n" +
		"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"))
	if want := (status{rssKiB: 8192, peakKiB: 9000, voluntary: 12, involuntary: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestParseMachine(t *testing.T) {
	t.Parallel()
	m, err := parseMachine([]byte("cpu  100 1 50 1000 20 3 4 5 60 7\ncpu0 1 1 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := MachineTime{Busy: 158 * tick, Steal: 5 * tick, Total: 1183 * tick}
	if m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	if _, err := parseMachine([]byte("intr 1")); err == nil {
		t.Error("nonsense parsed")
	}
}

func TestUsageOfSelf(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	u, err := UsageOf(os.Getpid())
	if err != nil || u.RSSBytes <= 0 || u.PeakBytes < u.RSSBytes/2 || u.Threads < 1 {
		t.Errorf("%+v, %v", u, err)
	}
}

// A server's work may be done by child processes, such as node for a script, or the command that a peer's wrapper
// starts.
func TestUsageHasTheProcessesOfTheServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	cmd := exec.Command("sh", "-c", "(while :; do :; done) & trap 'kill $!; exit' TERM; wait")
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	p := &Process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all, err := p.Usage()
		if err != nil {
			t.Fatal(err)
		}
		own, err := UsageOf(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if all.CPU() >= own.CPU()+5*tick && all.RSSBytes > own.RSSBytes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server's child is not in %+v", all)
		}
	}
}

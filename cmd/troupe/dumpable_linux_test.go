package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// TestTheHostsEnvironmentIsItsOwn checks that a child process of the same user can read the environment of its parent
// until the parent calls notDumpable, and cannot afterwards. With GOTRACEBACK=crash it still can.
func TestTheHostsEnvironmentIsItsOwn(t *testing.T) {
	t.Parallel()
	const secret = "TROUPE_TEST_SECRET=word"
	if os.Getenv("DUMPABLE") == "" {
		for _, traceback := range []string{"single", "crash"} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheHostsEnvironmentIsItsOwn$")
			cmd.Env = append(os.Environ(), "DUMPABLE=1", asTroupe+"=", secret, "GOTRACEBACK="+traceback, "TMPDIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("GOTRACEBACK=%s: %v\n%s", traceback, err, out)
			}
		}
		return
	}
	if os.Getuid() == 0 { // root may read everything
		for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil { // setuid has cleared it
			t.Fatal(err)
		}
	}
	reads := func() bool {
		out, _ := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", os.Getpid())).Output()
		return bytes.Contains(out, []byte(secret))
	}
	if !reads() {
		t.Fatal("it cannot be read before: there is nothing to test")
	}
	notDumpable(zerolog.Nop())
	if want := os.Getenv("GOTRACEBACK") == "crash"; reads() != want {
		t.Errorf("it can be read: %v, want %v", !want, want)
	}
	if _, err := os.ReadDir("/proc/self/fd"); err != nil { // the metrics need this
		t.Error(err)
	}
	if !t.Failed() {
		os.Exit(0) // skip the cleanup of TestMain, which would touch files of root
	}
}

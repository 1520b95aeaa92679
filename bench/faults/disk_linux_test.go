//go:build linux && (amd64 || arm64)

package faults

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/bench/faults/disk"
)

func init() { children["TROUPE_TEST_DISK"] = writeLines }

// writeLines is the child process. It re-executes itself with the seccomp filter and writes a file for each line that
// it reads.
func writeLines(file string) {
	if socket := os.Getenv("TROUPE_TEST_SOCKET"); socket != "" {
		os.Unsetenv("TROUPE_TEST_SOCKET")
		panic(disk.Exec(socket, []string{os.Args[0]}))
	}
	f, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		began := time.Now()
		_, err := f.WriteAt([]byte("x"), 0)
		if err == nil {
			err = f.Sync()
		}
		switch {
		case err != nil:
			os.Stdout.WriteString(err.Error() + "\n")
		default:
			os.Stdout.WriteString("written " + time.Since(began).String() + "\n")
		}
	}
}

// The disk of a child is full, then slow, then normal again.
func TestDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	socket := filepath.Join(folder, "disk.sock")
	d, err := disk.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "TROUPE_TEST_SOCKET="+socket, "TROUPE_TEST_DISK="+filepath.Join(folder, "file"))
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	ask := func(want string) string {
		t.Helper()
		if _, err := io.WriteString(in, "write\n"); err != nil {
			t.Fatal(err)
		}
		line, err := said.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Errorf("%q, %v, want %s", line, err, want)
		}
		return strings.TrimSpace(strings.TrimPrefix(line, want))
	}
	ask("written ")
	for why, set := range map[syscall.Errno]func(syscall.Errno){syscall.ENOSPC: d.FailWrites, syscall.EROFS: d.FailWrites, syscall.EIO: d.FailSyncs} {
		set(why)
		what := "write"
		if why == syscall.EIO {
			what = "sync"
		}
		ask(what + " " + filepath.Join(folder, "file") + ": " + why.Error())
		set(0)
		ask("written ")
	}
	d.Slow(50 * time.Millisecond)
	if took, err := time.ParseDuration(ask("written ")); err != nil || took < 50*time.Millisecond {
		t.Errorf("%v, %v", took, err)
	}
	d.Slow(0)
	ask("written ")
	if err := errors.Join(in.Close(), child.Wait(), d.Close()); err != nil {
		t.Error(err)
	}
}

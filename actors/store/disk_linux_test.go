package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"troupe/actors/actorstest/assert"
)

func init() {
	children["sync"] = commitWithoutSync
	children["limit"] = commitOverALimit
}

// On a full disk changes are refused, and acknowledged commits are kept. The store writes again as soon as there is
// room. RL-116.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("troupe-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no small disk to fill: mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	path := filepath.Join(dir, "store.db")
	var said bytes.Buffer
	s, err := Open(Options{Path: path, Log: zerolog.New(&said)})
	assert.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	assert.NoError(t, commitNow(s, Put(Fleet, "before", 1)))

	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	value := make([]byte, 10_000)
	var mu sync.Mutex
	good := map[string]bool{}
	refused := 0
	for i := range 200 {
		id := fmt.Sprint("full-", i)
		s.Commit([]Change{{Fleet, id, value}, {Alias, id, value}}, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if good[id] = err == nil; err != nil {
				refused++
			}
		})
		if i%10 == 0 {
			s.Flush()
		}
	}
	s.Flush()
	if refused < 100 || s.count.StoreFailing.Load() != 1 {
		t.Errorf("%d refused of 200, failing %d", refused, s.count.StoreFailing.Load())
	}
	assert.NoError(t, os.Remove(filler))
	at := time.Now()
	if err := commitNow(s, Put(Fleet, "after", 1)); err != nil || time.Since(at) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(at))
	}
	check := func(s Store) {
		t.Helper()
		fleets, aliases := all(t, s, Fleet), all(t, s, Alias)
		if fleets["before"] != "1" || fleets["after"] != "1" || len(fleets) != len(aliases)+2 {
			t.Errorf("%d fleets, %d aliases", len(fleets), len(aliases))
		}
		for id, want := range good {
			if _, got := fleets[id]; got != want {
				t.Errorf("%s: there %v, answered %v", id, got, want)
			}
		}
	}
	check(s)
	closeStore(t, s)
	check(open(t, path))
	if n := strings.Count(said.String(), "does not write"); n != 1 || !strings.Contains(said.String(), "writes again") {
		t.Errorf("said %d times: %s", n, said.String())
	}
}

// The same test with a limit on the file size, for systems on which a test cannot mount a disk.
func TestFullFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	l := live(t, "limit", path, "1", "", nil)
	if !l.ended || len(l.refused) == 0 || !l.acked["before"] || !l.acked["after"] {
		t.Errorf("%d acked, %d refused", len(l.acked), len(l.refused))
	}
	compare(t, path, l)
}

// compare compares the store with the answers that a child process received.
func compare(t *testing.T, path string, l life) {
	t.Helper()
	there := all(t, open(t, path), Fleet)
	for id := range l.acked {
		if _, ok := there[id]; !ok {
			t.Errorf("%s is lost", id)
		}
	}
	for id := range l.refused {
		if _, ok := there[id]; ok {
			t.Errorf("%s is there, and was refused", id)
		}
	}
	t.Logf("acked %d, refused %d, there %d", len(l.acked), len(l.refused), len(there))
}

// tell commits one record and prints the answer.
func tell(s Store, id string, size int) {
	if err := commitNow(s, Change{Fleet, id, make([]byte, size)}); err != nil {
		fmt.Println("-" + id)
	} else {
		fmt.Println("+" + id)
	}
}

func commitOverALimit() {
	signal.Ignore(syscall.SIGXFSZ)
	s := mustOpen()
	tell(s, "before", 10)
	var old unix.Rlimit
	mustDo(unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	mustDo(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: old.Max}))
	for i := range 40 {
		tell(s, fmt.Sprint("full-", i), 100_000)
	}
	mustDo(unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	tell(s, "after", 10)
	fmt.Println("end")
	os.Exit(0) // as if the process had died
}

// When a sync fails, the state of the disk is unknown. The commit is refused, and the next process must not find it,
// although all its bytes are in the file. RL-21, RL-116.
func TestFailedSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	l := live(t, "sync", path, "1", "", nil)
	if !l.ended {
		t.Skip("the kernel lets nobody have a sync fail (seccomp)")
	}
	if len(l.acked) != 20 || len(l.refused) != 20 {
		t.Errorf("%d acked, %d refused", len(l.acked), len(l.refused))
	}
	compare(t, path, l)
}

func commitWithoutSync() {
	s := mustOpen()
	for i := range 20 {
		tell(s, fmt.Sprint("good-", i), 100)
	}
	if !failSync(fileOf(s.path + logSuffix)) {
		os.Exit(0)
	}
	for i := range 20 {
		tell(s, fmt.Sprint("bad-", i), 100)
	}
	fmt.Println("end")
	os.Exit(0) // as if the process had died
}

func mustOpen() *SQLite {
	s, err := Open(Options{Path: os.Getenv(storeVariable)})
	mustDo(err)
	return s
}

func mustDo(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// fileOf returns the descriptor under which this process has a file open.
func fileOf(path string) uint32 {
	open, err := os.ReadDir("/proc/self/fd")
	mustDo(err)
	for _, e := range open {
		if at, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && at == path {
			n, err := strconv.Atoi(e.Name())
			mustDo(err)
			return uint32(n)
		}
	}
	mustDo(errors.New("not open: " + path))
	return 0
}

// failSync makes the kernel answer every sync of a file with EIO until the process ends.
func failSync(file uint32) bool {
	const nr, arg0 = 0, 16 // offsets in seccomp_data; the argument is little-endian, so this is its low half
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	give := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	filter := []unix.SockFilter{
		load(nr), equal(unix.SYS_FDATASYNC, 1, 0), equal(unix.SYS_FSYNC, 0, 3),
		load(arg0), equal(file, 0, 1), give(unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)), give(unix.SECCOMP_RET_ALLOW),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return false
	}
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	return no == 0
}

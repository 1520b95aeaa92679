package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/actors/child/cgroup"
)

const watches = true // sample works on this system

// attributes makes a process the leader of its own group. The kernel kills it when the thread that started it
// ends, and so when the host ends.
func attributes(s *Start, t Tag, serial int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if s.Cgroup != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(s.Cgroup.Fd())
	}
	if s.User.Other() {
		a.Credential = &syscall.Credential{Uid: s.User.UID, Gid: s.User.GID}
		if t&groupsTag != 0 {
			a.Credential.Groups = []uint32{tagGroups | uint32(t), serialGroups | uint32(serial)}
		}
	}
	return a
}

// tame sets the limits of a process that has just been started, which also apply to its descendants. Errors
// are ignored, because sample watches the usage anyway.
func tame(pid int, l Limits, t Tag, serial int) {
	tameOne(pid, l, t, serial)
	// What it has started meanwhile has not inherited that.
	for at, found := 0, []int{pid}; at < len(found) && len(found) < tameMax; at++ {
		for _, p := range childrenOf(found[at]) {
			tameOne(p, l, t, serial)
			found = append(found, p)
		}
	}
}

// tameMax limits how many processes tame looks at. A child has a fraction of a millisecond to start them.
const tameMax = 100

// childrenOf returns the process ids of a process's children. A kernel without CONFIG_PROC_CHILDREN shows none.
func childrenOf(pid int) (all []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range bytes.FieldsSeq(text) {
			if p, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, p)
			}
		}
	}
	return all
}

func tameOne(pid int, l Limits, t Tag, serial int) {
	if l.Nice != 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, l.Nice)
	}
	limit := func(what int, n uint64) { _ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: n, Max: n}, nil) }
	limit(unix.RLIMIT_CORE, 0)
	if l.FilesMax > 0 {
		limit(unix.RLIMIT_NOFILE, l.FilesMax)
	}
	if t&groupsTag == 0 {
		limit(unix.RLIMIT_LOCKS, limitOf(t)|uint64(serial))
	}
	if l.DataMax > 0 {
		limit(unix.RLIMIT_DATA, l.DataMax)
	}
	// If the system runs out of memory, children are killed before the host.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}

// A mark is inherited by all descendants of a child. It identifies them even if they have left its process
// group. The mark is the value of RLIMIT_LOCKS, which has no effect since Linux 2.4.25 (getrlimit(2)); a
// process may lower its value, though. For a process of another user, the host can neither set nor read this
// limit without CAP_SYS_RESOURCE, which containers seldom have. There the mark is two supplementary groups.
// Nothing else uses these groups, and an unprivileged process cannot leave them.
const (
	serialBits   = 24
	limitBase    = 1 << (tagBits + serialBits)
	tagGroups    = 1 << 31
	serialGroups = 0xff << serialBits
)

func limitOf(t Tag) uint64 { return limitBase | uint64(t)<<serialBits }

// marking is held while RLIMIT_LOCKS of this process is a mark.
var marking sync.Mutex

// startMarked calls start, and what that starts has its mark from the beginning: it may start another process and end
// before tame. Only the soft limit is a mark until tame, because this process can raise only that one again.
func startMarked(t Tag, serial int, start func() error) error {
	marking.Lock() // also for a child with another mark: it would inherit this one
	defer marking.Unlock()
	var was unix.Rlimit
	if t&groupsTag != 0 || unix.Getrlimit(unix.RLIMIT_LOCKS, &was) != nil {
		return start()
	}
	_ = unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: limitOf(t) | uint64(serial), Max: was.Max})
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: was.Max, Max: was.Max}) }()
	return start()
}

// marked returns the serial number of the child from which process pid descends, if the child belongs to t's
// program. Otherwise it returns 0.
func (t Tag) marked(pid int) int {
	if t&groupsTag == 0 {
		var limit unix.Rlimit
		if pid == os.Getpid() || unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil {
			return 0
		}
		for _, n := range []uint64{limit.Max, limit.Cur} {
			if n>>serialBits == limitOf(t)>>serialBits {
				return int(n & (1<<serialBits - 1))
			}
		}
		return 0
	}
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, rest, _ := bytes.Cut(status, []byte("\nGroups:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	ours, serial := false, 0
	for field := range bytes.FieldsSeq(line) {
		n, _ := strconv.ParseUint(string(field), 10, 32)
		ours = ours || n == tagGroups|uint64(t)
		if n >= serialGroups {
			serial = int(n &^ serialGroups)
		}
	}
	if !ours {
		return 0
	}
	return serial
}

// marks reports whether a child that was just started has its mark.
func (t Tag) marks(pid, serial int) bool { return t.marked(pid) == serial }

// confine limits what the calling thread starts from now on as another user. It gains no privileges: set-user-ID programs
// and capabilities of files have no effect (PR_SET_NO_NEW_PRIVS). And it leaves half of the processes and threads of the
// machine to others, and writes no core files. These limits are those of the host, which its children inherit: without
// CAP_SYS_RESOURCE, which containers seldom have, a host cannot limit a process of another user. The kernel does not apply
// that of processes to root, unless root is one of a user namespace.
func confine() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var now unix.Rlimit
	if most := tasksMax(readText); unix.Getrlimit(unix.RLIMIT_NPROC, &now) == nil && most < now.Max {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(most, now.Cur), Max: most})
	}
}

func readText(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// tasksMax returns half of the processes and threads that the machine and the control groups of the host allow.
func tasksMax(read func(path string) string) uint64 {
	paths := []string{"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"}
	if own, ok := cgroup.Own(read(cgroup.File), ""); ok {
		for ; own != "/" && own != "."; own = filepath.Dir(own) {
			paths = append(paths, filepath.Join(cgroup.Root, own, "pids.max"))
		}
		paths = append(paths, filepath.Join(cgroup.Root, "pids.max")) // there in a container, whose groups begin with its own
	}
	most := uint64(unix.RLIM_INFINITY)
	for _, path := range paths {
		if n, err := strconv.ParseUint(read(path), 10, 64); err == nil {
			most = min(most, n/2)
		}
	}
	return most
}

// marksGroups reports whether children are marked by groups. That is the case if they run as another user,
// except in a user namespace, which does not map these group numbers.
func marksGroups(u User) bool {
	var inside, outside, count uint64
	text, _ := os.ReadFile("/proc/self/gid_map")
	_, _ = fmt.Sscan(string(text), &inside, &outside, &count)
	return u.Other() && count == 1<<32-1
}

// awaitEnd waits until a process has ended. The kernel does not reuse its process ID and process group ID
// until reap is called.
func awaitEnd(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func reap(cmd *exec.Cmd) { _ = cmd.Wait() }

func signalGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }

// signalMarked sends a signal to a process if it is marked as a descendant of one child of t's Keeper, or of any of its
// children if serial is 0. It holds on to the process, so that the signal reaches no other one with the same id.
func (t Tag) signalMarked(pid, serial int, s syscall.Signal) bool {
	if found := t.marked(pid); found == 0 || serial != 0 && serial != found {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return t.marked(pid) != 0 && p.Signal(s) == nil
}

// search returns the search for the living descendants of one child of t's Keeper, or of all its children if serial is 0.
func (t Tag) search(serial int) *search {
	return &search{list: processes, is: func(pid int) bool {
		found := t.marked(pid)
		return found != 0 && (serial == 0 || serial == found) && lives(pid)
	}}
}

// KillMarked kills the descendants of one child of t's Keeper, or of all its children if serial is 0. It returns false if
// it may have left some, because processes have started all the time.
func KillMarked(t Tag, serial int) bool {
	signal := func(s syscall.Signal) func(int) { return func(pid int) { t.signalMarked(pid, serial, s) } }
	return t.search(serial).end(signal(syscall.SIGSTOP), signal(syscall.SIGKILL))
}

// EndMarked ends what a host that was killed has left of the children of t's Keeper: by SIGTERM, and by SIGKILL after
// grace or the end of ctx. It returns how many processes there were, soon after their end. all is false if some may still
// be there.
func EndMarked(ctx context.Context, t Tag, grace time.Duration) (n int, all bool) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	first := slices.Collect(t.search(0).all())
	for _, p := range first { // not those that they start for their good-bye
		t.signalMarked(p, 0, syscall.SIGTERM)
	}
	for t.search(0).any() {
		select {
		case <-time.After(restInterval):
			continue
		case <-ctx.Done():
		}
		KillMarked(t, 0)
		for range 20 { // the kernel needs a moment to free their memory and ports
			if !t.search(0).any() {
				return len(first), true
			}
			time.Sleep(restInterval)
		}
		return len(first), false
	}
	return len(first), true
}

// rest is what a child has started and left behind. The child itself is a zombie.
type rest struct {
	tag           Tag
	serial, group int
	known         int // one of its processes, or 0; it is looked at first, because that costs less than to search
}

func (r *rest) has(pid int) bool {
	p, ok := statOf(pid)
	return ok && (p.group == r.group || r.tag.marked(pid) == r.serial)
}

// lives reports whether there is any, or may be.
func (r *rest) lives() bool {
	if r.known != 0 && r.has(r.known) {
		return true
	}
	r.known = 0
	s := search{list: processes, is: r.has}
	for r.known = range s.all() {
		return true
	}
	return s.unsure
}

// ask sends SIGTERM to those that have left the process group.
func (r *rest) ask() {
	for p := range r.tag.search(r.serial).all() {
		if group, err := syscall.Getpgid(p); err == nil && group != r.group {
			r.tag.signalMarked(p, r.serial, syscall.SIGTERM)
		}
	}
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	_, ok := statOf(pid)
	return ok
}

// statOf returns what /proc tells of a process. It returns false for one that has ended.
func statOf(pid int) (p processStat, ok bool) {
	folder := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return p, false
	}
	if p, ok = parseStat(stat); !ok || !p.headless {
		return p, ok
	}
	tasks, _ := filepath.Glob(folder + "/task/*/stat")
	for _, task := range tasks {
		stat, _ := os.ReadFile(task)
		of, _ := parseStat(stat)
		p.RSS = max(p.RSS, of.RSS)
	}
	return p, true
}

func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	ids := make([]int, 0, len(names))
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// sample reads the resource usage of the system's processes. It sums the usage by serial number for
// descendants of t's Keeper, and by process group for other processes. Zombies are left out.
func sample(t Tag) (marked, groups map[int]Usage) {
	marked, groups = make(map[int]Usage), make(map[int]Usage)
	for _, pid := range processes() {
		if p, ok := statOf(pid); ok {
			p.Processes = 1
			if serial := t.marked(pid); serial != 0 {
				marked[serial] = marked[serial].Plus(p.Usage)
			} else {
				groups[p.group] = groups[p.group].Plus(p.Usage)
			}
		}
	}
	return marked, groups
}

// threadTime returns the CPU time used by the calling thread.
func threadTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) // does not fail on any Linux version that Go supports
	return time.Duration(now.Nano())
}

type processStat struct {
	group    int
	headless bool // its first thread has ended, and others live: it has no RSS
	Usage
}

// parseStat parses /proc/PID/stat (proc_pid_stat(5)). It returns false for a zombie or invalid data. A process whose first
// thread has ended is a zombie only if it has no other thread.
func parseStat(b []byte) (p processStat, ok bool) {
	end := bytes.LastIndexByte(b, ')') // end of the command name, which may contain any characters
	if end < 0 {
		return p, false
	}
	f := bytes.Fields(b[end+1:]) // the fields from number 3 on
	if len(f) < 22 || len(f[0]) != 1 {
		return p, false
	}
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(f[field-3]), 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	ok = true
	p.headless = f[0][0] == 'Z' || f[0][0] == 'X'
	if p.headless && number(20) < 2 { // threads
		return p, false
	}
	p.group = int(number(5))
	const ticksPerSecond = 100 // USER_HZ on all architectures that Go supports
	p.CPU = time.Duration(number(14)+number(15)+number(16)+number(17)) * (time.Second / ticksPerSecond)
	p.RSS = number(24) * int64(os.Getpagesize())
	return p, ok && p.CPU >= 0 && p.RSS >= 0
}

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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
// are ignored, because sample watches the usage anyway. RLIMIT_NPROC is not used: it would count all
// processes and threads of the user, including the host's.
func tame(pid int, l Limits, t Tag, serial int) {
	tameOne(pid, l, t, serial)
	// What it has started meanwhile has not inherited that.
	for at, todo := 0, []int{pid}; at < len(todo) && at < tameMax; at++ {
		for _, p := range childrenOf(todo[at]) {
			if t.marked(p) != serial {
				tameOne(p, l, t, serial)
				todo = append(todo, p)
			}
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

// marked returns the serial number of the child from which process pid descends, if the child belongs to t's
// program. Otherwise it returns 0.
func (t Tag) marked(pid int) int {
	if t&groupsTag == 0 {
		var limit unix.Rlimit
		if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) != nil || limit.Max>>serialBits != limitOf(t)>>serialBits {
			return 0
		}
		return int(limit.Max & (1<<serialBits - 1))
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

// KillMarked kills the descendants of one child of t's Keeper, or of all its children if serial is 0.
func KillMarked(t Tag, serial int) {
	killed := make(map[int]bool)
	for again := true; again; { // repeat for processes that were started meanwhile
		again = false
		for _, p := range processes() {
			if !killed[p] && t.signalMarked(p, serial, syscall.SIGKILL) {
				killed[p], again = true, true
			}
		}
	}
}

// EndMarked ends what a host that was killed has left of the children of t's Keeper: by SIGTERM, and by SIGKILL after
// grace or the end of ctx. It returns how many processes there were, soon after their end.
func EndMarked(ctx context.Context, t Tag, grace time.Duration) int {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	left := func() []int {
		return slices.DeleteFunc(processes(), func(p int) bool { return t.marked(p) == 0 || !lives(p) })
	}
	first := left()
	for _, p := range first { // not those that they start for their good-bye
		t.signalMarked(p, 0, syscall.SIGTERM)
	}
	for len(left()) > 0 {
		select {
		case <-time.After(restInterval):
			continue
		case <-ctx.Done():
		}
		KillMarked(t, 0)
		for range 20 { // the kernel needs a moment to free their memory and ports
			if len(left()) == 0 {
				break
			}
			time.Sleep(restInterval)
		}
		break
	}
	return len(first)
}

// rest is what a child has started and left behind. The child itself is a zombie.
type rest struct {
	tag           Tag
	serial, group int
	known         []int // some of its processes; they are looked at first, because that costs less than to search
}

func (r *rest) has(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	p, ok := parseStat(stat)
	return ok && (p.group == r.group || r.tag.marked(pid) == r.serial)
}

// lives reports whether there is any.
func (r *rest) lives() bool {
	none := func(pid int) bool { return !r.has(pid) }
	if r.known = slices.DeleteFunc(r.known, none); len(r.known) == 0 {
		r.known = slices.DeleteFunc(processes(), none)
	}
	return len(r.known) > 0
}

// ask sends SIGTERM to those that have left the process group.
func (r *rest) ask() {
	for _, p := range processes() {
		if group, err := syscall.Getpgid(p); err == nil && group != r.group {
			r.tag.signalMarked(p, r.serial, syscall.SIGTERM)
		}
	}
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, ok := parseStat(stat)
	return ok
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
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // the process has ended
		}
		if p, ok := parseStat(stat); ok {
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
	group int
	Usage
}

// parseStat parses /proc/PID/stat (proc_pid_stat(5)). It returns false for a zombie or invalid data.
func parseStat(b []byte) (p processStat, ok bool) {
	end := bytes.LastIndexByte(b, ')') // end of the command name, which may contain any characters
	if end < 0 {
		return p, false
	}
	f := bytes.Fields(b[end+1:]) // the fields from number 3 on
	if len(f) < 22 || len(f[0]) != 1 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return p, false
	}
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(f[field-3]), 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	ok = true
	p.group = int(number(5))
	const ticksPerSecond = 100 // USER_HZ on all architectures that Go supports
	p.CPU = time.Duration(number(14)+number(15)+number(16)+number(17)) * (time.Second / ticksPerSecond)
	p.RSS = number(24) * int64(os.Getpagesize())
	return p, ok && p.CPU >= 0 && p.RSS >= 0
}

package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const watches = true // sample works on this system

// attributes makes a process the leader of its own group. The kernel kills it when the thread that started it
// ends, and so when the host ends.
func attributes(o *Options, t tag, serial int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if o.otherUser() {
		a.Credential = &syscall.Credential{Uid: o.UID, Gid: o.GID}
		if t&groupsTag != 0 {
			a.Credential.Groups = []uint32{tagGroups | uint32(t), serialGroups | uint32(serial)}
		}
	}
	return a
}

// tame sets the limits of a process that has just been started, which also apply to its descendants. Errors
// are ignored, because sample watches the usage anyway. RLIMIT_NPROC is not used: it would count all
// processes and threads of the user, including the host's.
func tame(pid int, memoryMax int64, t tag, serial int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	limit := func(what int, n uint64) { _ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: n, Max: n}, nil) }
	limit(unix.RLIMIT_CORE, 0)
	limit(unix.RLIMIT_NOFILE, filesMax)
	if t&groupsTag == 0 {
		limit(unix.RLIMIT_LOCKS, limitOf(t)|uint64(serial))
	}
	if memoryMax > 0 { // catches memory that grows faster than sample can notice
		limit(unix.RLIMIT_DATA, uint64(memoryMax)+dataSlack)
	}
	// If the system runs out of memory, scripts are killed before the host.
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

func limitOf(t tag) uint64 { return limitBase | uint64(t)<<serialBits }

// marked returns the serial number of the child from which process pid descends, if the child belongs to t's
// program. Otherwise it returns 0.
func (t tag) marked(pid int) int {
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
func marksGroups(o *Options) bool {
	var inside, outside, count uint64
	text, _ := os.ReadFile("/proc/self/gid_map")
	_, _ = fmt.Sscan(string(text), &inside, &outside, &count)
	return o.otherUser() && count == 1<<32-1
}

const (
	filesMax  = 1024      // maximum number of open files of each process of a script
	dataSlack = 512 << 20 // memory that a node process may map in addition to the script's limit
)

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

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// killMarked kills the descendants of one child of t's program, or of all its children if serial is 0.
func killMarked(t tag, serial int) {
	killed := make(map[int]bool)
	for again := true; again; { // repeat for processes that were started meanwhile
		again = false
		for _, p := range processes() {
			if killed[p] {
				continue
			}
			if s := t.marked(p); s != 0 && (serial == 0 || s == serial) {
				killed[p], again = true, true
				_ = syscall.Kill(p, syscall.SIGKILL)
			}
		}
	}
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
// descendants of t's program, and by process group for other processes. Zombies are left out.
func sample(t tag) (marked, groups map[int]usage) {
	marked, groups = make(map[int]usage), make(map[int]usage)
	for _, pid := range processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // the process has ended
		}
		if p, ok := parseStat(stat); ok {
			p.processes = 1
			if serial := t.marked(pid); serial != 0 {
				marked[serial] = marked[serial].plus(p.usage)
			} else {
				groups[p.group] = groups[p.group].plus(p.usage)
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
	usage
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
	p.cpu = time.Duration(number(14)+number(15)+number(16)+number(17)) * (time.Second / ticksPerSecond)
	p.rss = number(24) * int64(os.Getpagesize())
	return p, ok && p.cpu >= 0 && p.rss >= 0
}

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

const watches = true // says that sample works

// attributes make a process the first of its own group, ended by the system with the thread that starts it, and so with the host.
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

// tame bounds a process that has just been started, and what it will start. A bound that cannot be set is one fewer: sample watches all the
// same. RLIMIT_NPROC would count all processes and threads of a user, the host's own included.
func tame(pid int, memoryMax int64, t tag, serial int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	limit := func(what int, n uint64) { _ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: n, Max: n}, nil) }
	limit(unix.RLIMIT_CORE, 0)
	limit(unix.RLIMIT_NOFILE, filesMax)
	if t&groupsTag == 0 {
		limit(unix.RLIMIT_LOCKS, limitOf(t)|uint64(serial))
	}
	if memoryMax > 0 { // what grows faster than sample looks
		limit(unix.RLIMIT_DATA, uint64(memoryMax)+dataSlack)
	}
	// Scripts go before the host when the system runs out of memory.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}

// A mark is inherited by all that a child starts, and tells it from other processes when it has left its process group. It is the value of
// RLIMIT_LOCKS, which limits nothing since Linux 2.4.25 (getrlimit(2)), and which a process may lower. Of another user the host may neither
// set nor read it without CAP_SYS_RESOURCE, which containers seldom have: there the mark is two supplementary groups, to which nothing
// belongs, and which no process without privileges can leave.
const (
	serialBits   = 24
	limitBase    = 1 << (tagBits + serialBits)
	tagGroups    = 1 << 31
	serialGroups = 0xff << serialBits
)

func limitOf(t tag) uint64 { return limitBase | uint64(t)<<serialBits }

// marked returns the serial number of the child of t's program that pid descends from, 0 if none.
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

// marksGroups tells whether children get groups: those of another user, unless this is a user namespace, where such numbers are not mapped.
func marksGroups(o *Options) bool {
	var inside, outside, count uint64
	text, _ := os.ReadFile("/proc/self/gid_map")
	_, _ = fmt.Sscan(string(text), &inside, &outside, &count)
	return o.otherUser() && count == 1<<32-1
}

const (
	filesMax  = 1024      // how many files each process of a script may have open
	dataSlack = 512 << 20 // what a process of node may map beyond a script's memory
)

// awaitEnd returns when a process has ended. Its id, and its group's, is not given to others before reap.
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

// killMarked ends what descends from a child of t's program; from any if serial is 0.
func killMarked(t tag, serial int) {
	killed := make(map[int]bool)
	for again := true; again; { // what was started while it looked
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

// sample reads what the system's processes use: those of t's program by serial number, others by process group. Zombies are left out.
func sample(t tag) (marked, groups map[int]usage) {
	marked, groups = make(map[int]usage), make(map[int]usage)
	for _, pid := range processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // has ended
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

// threadTime returns the processor time that the calling thread has used.
func threadTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) // fails on no Linux that Go runs on
	return time.Duration(now.Nano())
}

type processStat struct {
	group int
	usage
}

// parseStat reads /proc/PID/stat (proc_pid_stat(5)); false for a zombie or garbage.
func parseStat(b []byte) (p processStat, ok bool) {
	end := bytes.LastIndexByte(b, ')') // of the name, which may hold anything
	if end < 0 {
		return p, false
	}
	f := bytes.Fields(b[end+1:]) // from field 3 on
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
	const ticksPerSecond = 100 // USER_HZ of all architectures that Go runs on
	p.cpu = time.Duration(number(14)+number(15)+number(16)+number(17)) * (time.Second / ticksPerSecond)
	p.rss = number(24) * int64(os.Getpagesize())
	return p, ok && p.cpu >= 0 && p.rss >= 0
}

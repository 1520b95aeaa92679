package node

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watches says that sample works.
const watches = true

// attributes make a process the first of its own group, ended by the system when
// the thread that starts it ends, and so with the host.
func attributes(o *Options) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if o.UID != 0 || o.GID != 0 {
		a.Credential = &syscall.Credential{Uid: o.UID, Gid: o.GID}
	}
	return a
}

// tame bounds a process that has just been started, and what it will start. A bound
// that cannot be set is one fewer: sample watches all the same.
//
// The number of processes is not bounded by RLIMIT_NPROC, which counts all processes
// and threads of a user, the host's own included, wherever they come from.
func tame(pid int, o *Options, memoryMax int64) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, max(o.Nice, 0))
	limit := func(what int, n uint64) { _ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: n, Max: n}, nil) }
	limit(unix.RLIMIT_CORE, 0)
	limit(unix.RLIMIT_NOFILE, filesMax)
	limit(unix.RLIMIT_LOCKS, mark|uint64(pid))
	if memoryMax > 0 { // what grows faster than sample looks
		limit(unix.RLIMIT_DATA, uint64(memoryMax)+dataSlack)
	}
	// Scripts go before the host when the system runs out of memory.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}

// All that a process starts inherits its limits, and cannot raise them. RLIMIT_LOCKS
// limits nothing since Linux 2.4.25 (getrlimit(2)): by its value, mark and a process id,
// those are found that have left their process group, and whose parents have ended.
const mark = 1 << 40

// ancestor returns the id of the process, started by a keeper, that pid descends from;
// 0 if there is none, or the host may not look.
func ancestor(pid int) int {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit); err != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&^(mark-1) != mark {
		return 0
	}
	return int(limit.Max &^ mark)
}

const (
	// filesMax is how many files each process of a script may have open.
	filesMax = 1024
	// dataSlack is what a process of node may map beyond a script's memory: stacks of
	// its threads, its own heap and buffers that garbage collection has not reached.
	dataSlack = 512 << 20
)

// awaitEnd returns when a process has ended, and leaves it to be waited for, so
// that its id, and its group's, is not given to others meanwhile.
func awaitEnd(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap gives the id of a process that has ended back to the system.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() }

// killGroup ends all processes of the group of pid.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// killOthers ends what descends from a process that has ended, and is not reaped.
func killOthers(pid int) {
	killed := map[int]bool{pid: true}
	for again := true; again; { // what was started while it looked
		again = false
		for _, p := range processes() {
			if !killed[p] && ancestor(p) == pid {
				killed[p], again = true, true
				_ = syscall.Kill(p, syscall.SIGKILL)
			}
		}
	}
}

// processes returns the ids of all processes of the system.
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

// sample reads what children and all that descends from them use, and any other
// process group of the system. Zombies are left out.
func sample() map[int]usage {
	all := make(map[int]usage)
	for _, pid := range processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // has ended
		}
		if p, ok := parseStat(stat); ok {
			owner := ancestor(pid)
			if owner == 0 {
				owner = p.group
			}
			u := all[owner]
			u.rss += p.rss
			u.cpu += p.cpu
			u.processes++
			all[owner] = u
		}
	}
	return all
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

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
	if memoryMax > 0 { // what grows faster than sample looks
		limit(unix.RLIMIT_DATA, uint64(memoryMax)+dataSlack)
	}
	// Scripts go before the host when the system runs out of memory.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
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

// sample reads what each process group of the system uses, zombies left out.
func sample() map[int]usage {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	all := make(map[int]usage)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // has ended
		}
		if p, ok := parseStat(stat); ok {
			u := all[p.group]
			u.rss += p.rss
			u.cpu += p.cpu
			u.processes++
			all[p.group] = u
		}
	}
	return all
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

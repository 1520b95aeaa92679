//go:build unix && !linux

package node

import (
	"os/exec"
	"syscall"
	"time"
)

// watches: memory and processor time are watched on Linux only; elsewhere a script
// has the heap limit of node, and the watchdog.
const watches = false

// attributes make a process the first of its own group.
func attributes(o *Options, _ tag, _ int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if o.otherUser() {
		a.Credential = &syscall.Credential{Uid: o.UID, Gid: o.GID}
	}
	return a
}

func tame(pid int, o *Options, _ int64, _ tag, _ int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, max(o.Nice, 0))
}

// awaitEnd returns when a process has ended.
func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }
func reap(*exec.Cmd)         {}

// killGroup ends all processes of the group of pid.
func killGroup(pid int)         { _ = syscall.Kill(-pid, syscall.SIGKILL) }
func marksGroups(*Options) bool { return false }

// Without marks, what a script has started and put into another group outlives it.
func killMarked(tag, int)                       {}
func sample(tag) (marked, groups map[int]usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

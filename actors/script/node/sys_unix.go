//go:build unix && !linux

package node

import "syscall"

// attributes makes a process the leader of its own group.
func attributes(o *Options, _ tag, _ int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if o.otherUser() {
		a.Credential = &syscall.Credential{Uid: o.UID, Gid: o.GID}
	}
	return a
}

func tame(pid int, _ int64, _ tag, _ int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, nice) }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

//go:build unix && !linux

package child

import "syscall"

// attributes makes a process the leader of its own group.
func attributes(s *Start, _ Tag, _ int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if s.User.Other() {
		a.Credential = &syscall.Credential{Uid: s.User.UID, Gid: s.User.GID}
	}
	return a
}

func tame(pid int, l Limits, _ Tag, _ int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, l.Nice)
}

func signalGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }

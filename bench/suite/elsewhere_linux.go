package suite

import "syscall"

// inNamespace starts a process in a network namespace of its own, which ends with it.
func inNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
}

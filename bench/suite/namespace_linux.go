package suite

import "syscall"

// newNamespace starts a process in a network namespace of its own, which ends with it.
func newNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
}

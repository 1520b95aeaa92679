package main

import "syscall"

// inNamespace starts a process in a network namespace of its own, which ends
// with it, and it with us.
func inNamespace() (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}, nil
}

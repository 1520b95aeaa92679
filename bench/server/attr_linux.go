package server

import "syscall"

// dieWithParent has the kernel kill the child should the benchmark be killed itself.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

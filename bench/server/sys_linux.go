package server

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the child if the benchmark itself is killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// NoMoreFiles prevents the server from opening files or sockets until restore is called. Open ones stay usable. It
// needs no privileges, because it lowers only the soft limit.
func (p *Process) NoMoreFiles() (restore func() error, err error) {
	if p.remote != nil {
		return nil, errors.New("limit files: the server was not started here")
	}
	var before unix.Rlimit
	if err := unix.Prlimit(p.pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		return nil, fmt.Errorf("limit files: %w", err)
	}
	none := before
	none.Cur = 0
	if err := unix.Prlimit(p.pid, unix.RLIMIT_NOFILE, &none, nil); err != nil {
		return nil, fmt.Errorf("limit files: %w", err)
	}
	return func() error {
		if err := unix.Prlimit(p.pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
			return fmt.Errorf("lift the limit of files: %w", err)
		}
		return nil
	}, nil
}

//go:build !linux

package server

import (
	"errors"
	"syscall"
)

// NoMoreFiles is not supported on this system.
func (p *Process) NoMoreFiles() (restore func() error, err error) {
	return nil, errors.New("only Linux can limit the files of a process that runs")
}

func dieWithParent() *syscall.SysProcAttr { return nil }

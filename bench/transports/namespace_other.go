//go:build !linux

package main

import (
	"fmt"
	"runtime"
	"syscall"
)

func inNamespace() (*syscall.SysProcAttr, error) {
	return nil, fmt.Errorf("%w: on %s", errNoNamespace, runtime.GOOS)
}

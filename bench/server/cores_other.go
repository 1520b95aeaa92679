//go:build !linux

package server

import (
	"errors"
	"os/exec"
)

var errNoCores = errors.New("keeping a process to cores is not supported here")

func cores() ([]int, error) { return nil, errNoCores }

// KeepTo is for Linux.
func KeepTo([]int) (release func() error, err error) { return nil, errNoCores }

func startOn(cmd *exec.Cmd, list []int) error {
	if list != nil {
		return errNoCores
	}
	return cmd.Start()
}

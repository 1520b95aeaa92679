//go:build !unix

package node

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// On these systems no host runs scripts in Node.js (findNode).

func attributes(*Options, tag, int) *syscall.SysProcAttr { return nil }
func tame(int, int64, tag, int)                          {}
func killGroup(int)                                      {}
func lock(string) (*os.File, error)                      { return nil, errors.ErrUnsupported }
func own(fs.FileInfo) bool                               { return false }

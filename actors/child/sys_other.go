//go:build !unix

package child

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// On these systems no host starts children.

func attributes(*Start, Tag, int) *syscall.SysProcAttr { return nil }
func tame(int, Limits, Tag, int)                       {}
func signalGroup(int, syscall.Signal)                  {}
func lock(string) (*os.File, error)                    { return nil, errors.ErrUnsupported }
func own(fs.FileInfo) bool                             { return false }

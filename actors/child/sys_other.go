//go:build !unix

package child

import "syscall"

// On these systems no host starts children.

func attributes(*Start, Tag, int) *syscall.SysProcAttr { return nil }
func tame(int, Limits, Tag, int)                       {}
func signalGroup(int, syscall.Signal)                  {}

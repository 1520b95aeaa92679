//go:build !unix

package node

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// watches: memory and processor time are watched on Linux only; elsewhere a script
// has the heap limit of node, and the watchdog.
const watches = false

// Without process groups, what a script has started itself may outlive it.
func attributes(*Options, tag, int) *syscall.SysProcAttr { return nil }
func tame(int, *Options, int64, tag, int)                {}
func awaitEnd(cmd *exec.Cmd)                             { _ = cmd.Wait() }
func reap(*exec.Cmd)                                     {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}

func marksGroups(*Options) bool { return false }
func killMarked(tag, int)       {}

// lock and own: no host runs scripts in Node here (Options.filled).
func lock(string) (*os.File, error)             { return nil, errors.ErrUnsupported }
func own(fs.FileInfo) bool                      { return false }
func sample(tag) (marked, groups map[int]usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

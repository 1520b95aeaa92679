//go:build !linux

package node

import (
	"os/exec"
	"time"
)

// watches is false: on systems other than Linux, a script is limited only by node's heap limit and the
// watchdog. Processes that have left its process group outlive it.
const watches = false

func awaitEnd(cmd *exec.Cmd)                    { _ = cmd.Wait() }
func reap(*exec.Cmd)                            {}
func marksGroups(*Options) bool                 { return false }
func killMarked(tag, int)                       {}
func sample(tag) (marked, groups map[int]usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

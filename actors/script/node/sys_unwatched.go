//go:build !linux

package node

import (
	"os/exec"
	"time"
)

// watches: elsewhere than on Linux, a script has the heap limit of node, and the watchdog. What leaves its process group outlives it.
const watches = false

func awaitEnd(cmd *exec.Cmd)                    { _ = cmd.Wait() }
func reap(*exec.Cmd)                            {}
func marksGroups(*Options) bool                 { return false }
func killMarked(tag, int)                       {}
func sample(tag) (marked, groups map[int]usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

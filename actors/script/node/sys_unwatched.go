//go:build !linux

package node

import (
	"os/exec"
	"time"
)

// watches: memory and processor time are watched on Linux only; elsewhere a script has the heap limit of node, and the watchdog. What it has started
// and put into another process group outlives it.
const watches = false

func awaitEnd(cmd *exec.Cmd)                    { _ = cmd.Wait() }
func reap(*exec.Cmd)                            {}
func marksGroups(*Options) bool                 { return false }
func killMarked(tag, int)                       {}
func sample(tag) (marked, groups map[int]usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

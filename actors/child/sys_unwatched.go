//go:build !linux

package child

import (
	"os/exec"
	"time"
)

// watches is false: on systems other than Linux, nobody knows what a child uses, and it may
// exceed its limits. Processes that have left its process group outlive it.
const watches = false

func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }
func reap(*exec.Cmd)         {}
func marksGroups(User) bool  { return false }

// KillMarked does nothing on this system.
func KillMarked(Tag, int)                       {}
func sample(Tag) (marked, groups map[int]Usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

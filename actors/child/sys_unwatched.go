//go:build !linux

package child

import (
	"context"
	"os/exec"
	"time"
)

// watches is false: on systems other than Linux, nobody knows what a child uses, and it may
// exceed its limits. Processes that have left its process group outlive it.
const watches = false

func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }
func reap(*exec.Cmd)         {}
func marksGroups(User) bool  { return false }
func confine()               {}

func startMarked(_ Tag, _ int, start func() error) error { return start() }

// marks says that nobody expects a mark on this system.
func (Tag) marks(int, int) bool { return true }

// KillMarked and EndMarked do nothing on this system.
func KillMarked(Tag, int) bool { return true }

// EndMarked finds nothing.
func EndMarked(context.Context, Tag, time.Duration) (int, bool) { return 0, true }

type rest struct {
	tag           Tag
	serial, group int
}

func (*rest) lives() bool { return false }
func (*rest) ask()        {}

func sample(Tag) (marked, groups map[int]Usage) { return nil, nil }
func threadTime() time.Duration                 { return 0 }

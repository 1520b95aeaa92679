// Package cgroup limits the memory of child processes with a Linux control group, version 1 or 2, as containers and
// services do. It needs permission to create a control group, which root has. It does not depend on what runs in the
// group.
package cgroup

import "errors"

// ErrUnsupported means that control groups are not usable here. All errors of New wrap it.
var ErrUnsupported = errors.New("a limit of memory takes Linux with control groups, and the rights to make one (root)")

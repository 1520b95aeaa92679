// Package cgroup limits the memory of child processes by a control group of Linux, version 1 or 2, as containers and services have one. It
// needs the rights to make one, which root has. It knows nothing of what runs in it.
package cgroup

import "errors"

// ErrUnsupported says that it cannot be done here. It is part of all errors of New.
var ErrUnsupported = errors.New("a limit of memory takes Linux with control groups, and the rights to make one (root)")

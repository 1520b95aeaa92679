// Package disk has the disk of a child process be slow, full, readable only, or fail to sync, as that process sees it, without rights and without a disk of its own: on
// Linux a seccomp filter hands the calls that write and sync files to the parent, which lets them pass, later, or answers them. It knows
// nothing of what runs in the process. What the process writes by write(2), such as logs, is not concerned.
package disk

import "errors"

// ErrUnsupported says that this system cannot do it.
var ErrUnsupported = errors.New("a broken disk takes Linux on amd64 or arm64, with seccomp user notifications (kernel 5.5 or newer)")

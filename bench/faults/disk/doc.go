// Package disk simulates a slow, full or read-only disk, or one that fails to sync, for a child process. It needs
// neither privileges nor a separate disk. On Linux a seccomp filter passes the system calls that write and sync files
// to the parent, which lets them proceed, delays them, or makes them fail. The package does not depend on what runs in
// the process. Data that the process writes with write(2), such as logs, is not affected.
package disk

import "errors"

// ErrUnsupported means that this system cannot simulate disk faults.
var ErrUnsupported = errors.New("a broken disk takes Linux on amd64 or arm64, with seccomp user notifications (kernel 5.5 or newer)")

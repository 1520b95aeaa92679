//go:build !linux || !(amd64 || arm64)

package disk

import (
	"syscall"
	"time"
)

// Disk injects disk faults into child processes. This system does not support it.
type Disk struct{}

// Listen fails with ErrUnsupported.
func Listen(string) (*Disk, error) { return nil, ErrUnsupported }

// Slow does nothing.
func (*Disk) Slow(time.Duration) {}

// FailWrites does nothing.
func (*Disk) FailWrites(syscall.Errno) {}

// FailSyncs does nothing.
func (*Disk) FailSyncs(syscall.Errno) {}

// Close does nothing.
func (*Disk) Close() error { return nil }

// Exec fails with ErrUnsupported.
func Exec(string, []string) error { return ErrUnsupported }

//go:build !linux || !(amd64 || arm64)

package disk

import "time"

// Disk is that of child processes. There is none on this system.
type Disk struct{}

// Listen fails with ErrUnsupported.
func Listen(string) (*Disk, error) { return nil, ErrUnsupported }

// Slow does nothing.
func (*Disk) Slow(time.Duration) {}

// Full does nothing.
func (*Disk) Full(bool) {}

// Close does nothing.
func (*Disk) Close() error { return nil }

// Exec fails with ErrUnsupported.
func Exec(string, []string) error { return ErrUnsupported }

//go:build !linux

package cgroup

// Group is a control group. This system has none.
type Group struct{}

// New returns ErrUnsupported.
func New(int64) (*Group, error) { return nil, ErrUnsupported }

// Do calls start.
func (*Group) Do(start func() error) error { return start() }

// Peak returns 0.
func (*Group) Peak() int64 { return 0 }

// Kills returns 0.
func (*Group) Kills() (int, error) { return 0, nil }

// Close does nothing.
func (*Group) Close() error { return nil }

//go:build !linux

package netns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
)

var errSystem = missing(runtime.GOOS, errors.ErrUnsupported)

// Namespace is a network namespace. There is none on this system.
type Namespace struct{}

// Start fails with ErrUnsupported.
func Start(func() *exec.Cmd) (*exec.Cmd, error) { return nil, errSystem }

// Here fails with ErrUnsupported.
func Here() (*Namespace, error) { return nil, errSystem }

// New fails with ErrUnsupported.
func New() (*Namespace, error) { return nil, errSystem }

// Do fails with ErrUnsupported.
func (*Namespace) Do(func() error) error { return errSystem }

// DialContext fails with ErrUnsupported.
func (*Namespace) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errSystem
}

// TUN fails with ErrUnsupported.
func (*Namespace) TUN(string, netip.Prefix) (*os.File, error) { return nil, errSystem }

// Resent fails with ErrUnsupported.
func (*Namespace) Resent() (uint64, error) { return 0, errSystem }

// Close does nothing.
func (*Namespace) Close() error { return nil }

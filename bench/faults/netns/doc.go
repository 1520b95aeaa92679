// Package netns has a process run in a network namespace of its own, make another one for its children, and connect both by TUN devices whose
// packets it carries itself. Nothing of it has a name that others see: all of it ends with the processes, also by SIGKILL. It needs root, or
// user namespaces, and Linux.
package netns

import (
	"errors"
	"fmt"
)

// ErrUnsupported says that this system cannot do it. It is part of all errors of Start, Here, New and TUN.
var ErrUnsupported = errors.New("it takes Linux with /dev/net/tun, and root or user namespaces")

// missing says what is missing.
func missing(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnsupported, what, err)
}

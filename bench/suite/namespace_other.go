//go:build !linux

package suite

import "syscall"

// newNamespace is nil: there are no such namespaces here.
func newNamespace() *syscall.SysProcAttr { return nil }

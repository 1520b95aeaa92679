//go:build !linux

package suite

import "syscall"

// inNamespace is nil: there are no such namespaces here.
func inNamespace() *syscall.SysProcAttr { return nil }

//go:build unix

package server

import (
	"fmt"
	"syscall"
)

// Pause stops the process where it stands, until Continue.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Continue resumes a paused process.
func (p *Process) Continue() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", p.Spec.Title(), err)
	}
	return nil
}

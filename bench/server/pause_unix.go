//go:build unix

package server

import (
	"fmt"
	"syscall"
)

// Pause suspends the process (SIGSTOP) until Continue.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Continue resumes a paused process (SIGCONT).
func (p *Process) Continue() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", p.Spec.Title(), err)
	}
	return nil
}

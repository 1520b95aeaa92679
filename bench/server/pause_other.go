//go:build !unix

package server

import "errors"

// Pause stops the process where it stands, until Continue.
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Continue resumes a paused process.
func (p *Process) Continue() error { return errors.ErrUnsupported }

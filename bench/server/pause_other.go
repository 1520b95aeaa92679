//go:build !unix

package server

import "errors"

// Pause is not supported on this system.
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Continue is not supported on this system.
func (p *Process) Continue() error { return errors.ErrUnsupported }

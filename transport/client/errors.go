package client

import (
	"errors"
	"fmt"
	"net"
)

// Errors of Dial, Send and the group commands. They match with errors.Is.
var (
	// ErrRefused: the host did not accept the login.
	ErrRefused = errors.New("client: login refused")
	// ErrClosed: the connection has ended; it matches net.ErrClosed.
	ErrClosed = fmt.Errorf("client: connection has ended: %w", net.ErrClosed)
	// ErrTooLarge: a payload is larger than PayloadMax.
	ErrTooLarge = fmt.Errorf("client: payload is larger than %d bytes", PayloadMax)
	// ErrNoTarget: a message is for nobody.
	ErrNoTarget = errors.New("client: message without a target")
	// ErrOpCode: an op code belongs to the protocol itself.
	ErrOpCode = errors.New("client: op code is reserved")
)

// Errors that End.Err and Client.FastErr match.
var (
	// ErrSilent: nothing came from the host for Options.SilenceMax, or, with KCP, it
	// acknowledged nothing for 10 s.
	ErrSilent = errors.New("client: the host is silent")
	// ErrFastRefused: the host does not offer the fast channel, or did not accept
	// the proof of who asks for it.
	ErrFastRefused = errors.New("client: the host refused the fast channel")
)

// EndError is the error of a Dial whose connection ended before the login was
// answered. It matches ErrClosed, and what End.Err matches.
type EndError struct{ End End }

// Error describes the end.
func (e *EndError) Error() string { return e.End.String() }

// Unwrap returns ErrClosed and End.Err.
func (e *EndError) Unwrap() []error {
	if e.End.Err == nil {
		return []error{ErrClosed}
	}
	return []error{ErrClosed, e.End.Err}
}

package client

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Errors of Dial, Send and the group commands. They match with errors.Is.
var (
	// ErrRefused: the host did not accept the login.
	ErrRefused = errors.New("client: login refused")
	// ErrClosed: the Client or the connection has ended; it matches net.ErrClosed.
	ErrClosed = fmt.Errorf("client: connection has ended: %w", net.ErrClosed)
	// ErrDetached: the connection is lost and has not come back yet.
	ErrDetached = errors.New("client: not connected at the moment")
	// ErrBufferFull: the connection is lost, and until it comes back there is no room for another message.
	ErrBufferFull = errors.New("client: send buffer is full while not connected")
	// ErrTooLarge: a payload is larger than PayloadMax.
	ErrTooLarge = fmt.Errorf("client: payload is larger than %d bytes", PayloadMax)
	// ErrNoTarget: a message has no target.
	ErrNoTarget = errors.New("client: message without a target")
	// ErrOpCode: an op code belongs to the protocol itself.
	ErrOpCode = errors.New("client: op code is reserved")
)

// Errors that End.Err and Client.FastErr match.
var (
	// ErrSilent: nothing came from the host for Options.SilenceMax. With KCP also: nothing came for Options.StallMax despite
	// probes, or no acknowledgement for 10 s, or StallMax if that is longer.
	ErrSilent = errors.New("client: the host is silent")
	// ErrGaveUp: the connection could not be resumed in time, or new ones failed again and again.
	ErrGaveUp = errors.New("client: did not come back")
	// ErrFastRefused: the host does not offer the fast channel, or not to this client.
	ErrFastRefused = errors.New("client: the host refused the fast channel")
	// ErrFastSilent: the host does not answer probes by the fast channel. The client tries another handshake.
	ErrFastSilent = errors.New("client: nothing comes by the fast channel")
)

// errDropped is the End.Err of a connection that this side dropped.
var errDropped = errors.New("client: dropped here")

// RefusedError is a login that the host did not accept. It matches ErrRefused.
type RefusedError struct {
	// RetryAfter is how long the host asks the client to wait; 0: do not try again.
	RetryAfter time.Duration
	// Reason is a short text; empty if the host gives none, as for an id that it does not know.
	Reason string
}

// Error describes the refusal.
func (e *RefusedError) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("%v for now: again after %v", ErrRefused, e.RetryAfter)
	}
	if e.Reason != "" {
		return ErrRefused.Error() + ": " + e.Reason
	}
	return ErrRefused.Error() + " without a reason, as hosts do if they do not know the player session (any more)"
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// EndError: Dial got no connection, or it ended before the login was answered. It matches ErrClosed, and all that End.Err matches.
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

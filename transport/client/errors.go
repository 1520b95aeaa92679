package client

import (
	"errors"
	"fmt"
	"net"
	"time"

	"troupe/messages/wire"
)

// Errors of Dial, Send and the group commands. Compare them with errors.Is.
var (
	// ErrRefused means that the host did not accept the login.
	ErrRefused = errors.New("client: login refused")
	// ErrGameOver means that the game session is over, so that the player cannot come back: it has ended, its host was
	// lost, or no host of the cluster knows it. End.Err may match it, too.
	ErrGameOver = errors.New("client: the game session is over")
	// ErrClosed means that the Client or the connection has ended. It matches net.ErrClosed.
	ErrClosed = fmt.Errorf("client: connection has ended: %w", net.ErrClosed)
	// ErrDetached means that the connection is lost and not resumed yet.
	ErrDetached = errors.New("client: not connected at the moment")
	// ErrBufferFull means that the connection is lost and the send buffer has no room until it is resumed.
	ErrBufferFull = errors.New("client: send buffer is full while not connected")
	// ErrTooLarge means that a payload is larger than PayloadMax.
	ErrTooLarge = fmt.Errorf("client: payload is larger than %d bytes", PayloadMax)
	// ErrNoTarget means that a message has no target.
	ErrNoTarget = errors.New("client: message without a target")
	// ErrOpCode means that an op code is reserved for the protocol itself.
	ErrOpCode = errors.New("client: op code is reserved")
)

// Errors that End.Err and Client.FastErr may match.
var (
	// ErrSilent means that nothing has arrived from the host for Options.SilenceMax. Over KCP it also means that the
	// host answered no ping for Options.StallMax, or acknowledged nothing for 10 s or StallMax, whichever is longer.
	ErrSilent = errors.New("client: the host is silent")
	// ErrGaveUp means that the connection could not be resumed in time, or that new connections failed again and again.
	ErrGaveUp = errors.New("client: did not come back")
	// ErrFastRefused means that the host does not offer the fast channel, or not to this client.
	ErrFastRefused = errors.New("client: the host refused the fast channel")
	// ErrFastSilent means that the host does not answer probes over the fast channel. The client starts another handshake.
	ErrFastSilent = errors.New("client: nothing comes by the fast channel")
)

// errDropped is the End.Err of a connection that this side dropped.
var errDropped = errors.New("client: dropped here")

// RefusedError is a login that the host did not accept. It matches ErrRefused.
type RefusedError struct {
	// RetryAfter is how long the host asks the client to wait. If it is 0, do not try again.
	RetryAfter time.Duration
	// Reason is a short text. It is empty if the host gives no reason, for example for an id that it does not know.
	Reason string
	// Over reports that the game session is over. The error then also matches ErrGameOver.
	Over bool

	moved wire.Endpoints // the node that runs the game session; empty unless the login was redirected
}

// Is implements errors.Is.
func (e *RefusedError) Is(target error) bool { return e.Over && target == ErrGameOver }

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

// EndError means that Dial got no connection, or that it ended before the login was answered. It matches
// ErrClosed and everything that End.Err matches.
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

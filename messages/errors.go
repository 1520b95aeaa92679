package messages

import "fmt"

// ErrorCode classifies a refusal. The service API maps it to one of its declared exceptions (service-api.md 1.3).
type ErrorCode uint8

// Error codes. There is one for each kind of refusal that the actors can decide on.
const (
	InvalidRequest ErrorCode = iota + 1
	NotFound
	InvalidFleetStatus
	InvalidGameSessionStatus
	GameSessionFull
	FleetCapacityExceeded
	LimitExceeded
	IdempotentMismatch
	TerminalRouting
	Conflict
	TaggingFailed
	Internal
	Unavailable // the host is draining
	NotReady
)

var errorCodeNames = [...]string{"", "invalid request", "not found", "invalid fleet status", "invalid game session status",
	"game session full", "fleet capacity exceeded", "limit exceeded", "idempotent parameter mismatch",
	"terminal routing strategy", "conflict", "tagging failed", "internal", "unavailable", "not ready"}

// String returns the code's name.
func (c ErrorCode) String() string { return nameOf(errorCodeNames[:], int(c)) }

// Error is a refusal with a text for the caller. It is not used for bugs: these panic, which ends only one actor.
type Error struct {
	Code ErrorCode
	Text string
}

// Error returns the text, which is meant for the API's caller.
func (e *Error) Error() string { return e.Text }

// Is makes errors.Is(err, &Error{Code: c}) compare the codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Text == "" || t.Text == e.Text)
}

// Errorf builds an Error.
func Errorf(code ErrorCode, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// FromNode is a refusal of another node of a cluster.
type FromNode struct {
	Node    string
	Refusal *Error
}

// Error returns the text of the refusal.
func (e *FromNode) Error() string { return e.Refusal.Text }

// Unwrap returns the refusal.
func (e *FromNode) Unwrap() error { return e.Refusal }

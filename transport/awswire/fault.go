package awswire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Fault is an error response (service-api.md 1.3).
type Fault struct {
	Status int
	Code   string // without a namespace
	Text   string // message for the caller
	Cause  error  // logged if the fault is the host's
}

// Error returns Text only, because it is meant for the API's caller.
func (f *Fault) Error() string { return f.Text }

// Codes of faults. Every operation declares InvalidRequest and InternalFault. No operation declares the
// others.
const (
	InvalidRequest = "InvalidRequestException"
	InternalFault  = "InternalServiceException"

	unknownOperation = "UnknownOperationException"
	serialization    = "SerializationException"
	entityTooLarge   = "RequestEntityTooLargeException"
	unavailable      = "ServiceUnavailable"
)

// BadRequest returns a fault with status 400.
func BadRequest(code, text string) *Fault {
	return &Fault{Status: http.StatusBadRequest, Code: code, Text: text}
}

// Invalid returns the fault for an invalid member.
func Invalid(format string, args ...any) *Fault {
	return BadRequest(InvalidRequest, fmt.Sprintf(format, args...))
}

// Throttled returns the fault that tells a client to slow down and retry. SDKs do that automatically.
func Throttled(text string) *Fault { return BadRequest(throttled, text) }

// Unavailable returns the fault for a request that may succeed later.
func Unavailable(text string) *Fault {
	return &Fault{Status: http.StatusServiceUnavailable, Code: unavailable, Text: text}
}

// Internal returns the fault for an error of the host. Its cause is only logged.
func Internal(cause error) *Fault {
	return &Fault{
		Status: http.StatusInternalServerError, Code: InternalFault, Cause: cause,
		Text: "the host failed to answer; its log has the reason under this request's id",
	}
}

func (s *Server) fault(declared string, err error) *Fault {
	var ready *Fault
	if errors.As(err, &ready) {
		return ready
	}
	if s.options.Fault != nil {
		if known := s.options.Fault(declared, err); known != nil {
			return known
		}
	}
	if errors.Is(err, context.Canceled) { // the caller has disconnected, or the host is stopping
		return Unavailable("the request was cut off")
	}
	return Internal(err) // a missed deadline or a bug
}

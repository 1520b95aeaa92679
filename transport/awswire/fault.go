package awswire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Fault is a refusal as it goes over the wire (service-api.md 1.3).
type Fault struct {
	Status int
	Code   string // bare name, without a namespace
	Text   string // for the caller
	Cause  error  // for the log, when it is the host's fault
}

// Error returns the text alone: it is meant for the API's caller.
func (f *Fault) Error() string { return f.Text }

// Codes of faults. Every operation declares InvalidRequest and InternalFault, none the others.
const (
	InvalidRequest = "InvalidRequestException"
	InternalFault  = "InternalServiceException"

	unknownOperation = "UnknownOperationException"
	serialization    = "SerializationException"
	entityTooLarge   = "RequestEntityTooLargeException"
	unavailable      = "ServiceUnavailable"
)

// BadRequest refuses a request with status 400.
func BadRequest(code, text string) *Fault {
	return &Fault{Status: http.StatusBadRequest, Code: code, Text: text}
}

// Invalid refuses a request because of an invalid member.
func Invalid(format string, args ...any) *Fault {
	return BadRequest(InvalidRequest, fmt.Sprintf(format, args...))
}

// Throttled tells a client to slow down and retry, which SDKs do automatically.
func Throttled(text string) *Fault { return BadRequest(throttled, text) }

// Unavailable says that the same request may succeed later.
func Unavailable(text string) *Fault {
	return &Fault{Status: http.StatusServiceUnavailable, Code: unavailable, Text: text}
}

// Internal is a fault of the host; the cause is only logged.
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
	if errors.Is(err, context.Canceled) { // the caller hung up, or the host stops
		return Unavailable("the request was cut off")
	}
	return Internal(err) // a deadline, or a bug
}

package serviceapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"troupe/messages"
)

// fault is a refusal as it goes over the wire (service-api.md 1.3).
type fault struct {
	status int
	code   string // bare name, without a namespace
	text   string // for the caller
	cause  error  // for the log, when it is the host's fault
}

func (f *fault) Error() string { return f.code + ": " + f.text }

// Common codes that no operation declares.
const (
	unknownOperation = "UnknownOperationException"
	serialization    = "SerializationException"
	entityTooLarge   = "RequestEntityTooLargeException"
	unavailable      = "ServiceUnavailable"
	internalFault    = "InternalServiceException"
)

// exceptions maps the abbreviations of service-api.md 1.3 to the modeled
// exceptions. All are answered with status 400 but IS with 500.
var exceptions = map[string]string{
	"IR": "InvalidRequestException",
	"NF": "NotFoundException",
	"UA": "UnauthorizedException",
	"IS": internalFault,
	"CF": "ConflictException",
	"FS": "InvalidFleetStatusException",
	"GS": "InvalidGameSessionStatusException",
	"GF": "GameSessionFullException",
	"FC": "FleetCapacityExceededException",
	"LE": "LimitExceededException",
	"IM": "IdempotentParameterMismatchException",
	"TR": "TerminalRoutingStrategyException",
	"UR": "UnsupportedRegionException",
	"TF": "TaggingFailedException",
	"NR": "NotReadyException",
	"OC": "OutOfCapacityException",
}

// abbreviations maps the refusals that the actors know to exceptions. Internal
// and Unavailable are not refusals of an operation and have their own way.
var abbreviations = map[messages.ErrorCode]string{
	messages.InvalidRequest:           "IR",
	messages.NotFound:                 "NF",
	messages.InvalidFleetStatus:       "FS",
	messages.InvalidGameSessionStatus: "GS",
	messages.GameSessionFull:          "GF",
	messages.FleetCapacityExceeded:    "FC",
	messages.LimitExceeded:            "LE",
	messages.IdempotentMismatch:       "IM",
	messages.TerminalRouting:          "TR",
	messages.Conflict:                 "CF",
	messages.TaggingFailed:            "TF",
}

// invalid refuses a request for what the caller wrote.
func invalid(format string, args ...any) *messages.Error {
	return messages.Errorf(messages.InvalidRequest, format, args...)
}

func badRequest(code, text string) *fault {
	return &fault{status: http.StatusBadRequest, code: code, text: text}
}

func internal(cause error) *fault {
	return &fault{
		status: http.StatusInternalServerError, code: internalFault, cause: cause,
		text: "the host failed to answer; its log has the reason under this request's id",
	}
}

// toFault translates an error of an operation. An exception that the operation
// does not declare becomes InvalidRequestException, because typed handlers of
// its callers would miss it.
func toFault(declared string, err error) *fault {
	var ready *fault
	var refusal *messages.Error
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &refusal):
		return refusalFault(declared, refusal)
	case errors.Is(err, context.Canceled): // the caller hung up, or the host stops
		return &fault{status: http.StatusServiceUnavailable, code: unavailable, text: "the request was cut off"}
	default: // a deadline, or a bug
		return internal(err)
	}
}

func refusalFault(declared string, refusal *messages.Error) *fault {
	switch refusal.Code {
	case messages.Unavailable:
		return &fault{status: http.StatusServiceUnavailable, code: unavailable, text: refusal.Text}
	case messages.Internal:
		f := internal(refusal)
		f.text = refusal.Text
		return f
	}
	abbreviation, known := abbreviations[refusal.Code]
	if !known {
		return internal(refusal)
	}
	if !declares(declared, abbreviation) {
		abbreviation = "IR"
	}
	return badRequest(exceptions[abbreviation], refusal.Text)
}

// declares reports whether a row of error letters, such as "IS NF IR UA",
// holds one.
func declares(row, abbreviation string) bool {
	for letters := range strings.FieldsSeq(row) {
		if letters == abbreviation {
			return true
		}
	}
	return false
}

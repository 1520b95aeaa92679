package serviceapi

import (
	"errors"
	"strings"

	"troupe/messages"
	"troupe/transport/awswire"
)

// exceptions maps the abbreviations of service-api.md 1.3 to the modeled exceptions. All have status 400,
// except IS with 500.
var exceptions = map[string]string{
	"IR": awswire.InvalidRequest,
	"NF": "NotFoundException",
	"UA": "UnauthorizedException",
	"IS": awswire.InternalFault,
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

// abbreviations maps the error codes of the actors to abbreviations in exceptions. Internal and Unavailable
// are not in it, because fault handles them separately.
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
	messages.NotReady:                 "NR",
}

// invalid returns the error for an invalid request.
func invalid(format string, args ...any) *messages.Error {
	return messages.Errorf(messages.InvalidRequest, format, args...)
}

// fault translates an error of the actors. An exception that the operation does not declare
// becomes InvalidRequestException, because callers have no typed handler for it.
func fault(declared string, err error) *awswire.Fault {
	var refusal *messages.Error
	if !errors.As(err, &refusal) {
		return nil
	}
	switch refusal.Code {
	case messages.Unavailable:
		return awswire.Unavailable(refusal.Text)
	case messages.Internal:
		f := awswire.Internal(refusal)
		f.Text = refusal.Text
		return f
	}
	abbreviation, known := abbreviations[refusal.Code]
	if !known {
		return awswire.Internal(refusal)
	}
	if !declares(declared, abbreviation) {
		abbreviation = "IR"
	}
	return awswire.BadRequest(exceptions[abbreviation], refusal.Text)
}

// declares reports whether a row of abbreviations, such as "IS NF IR UA", contains one.
func declares(row, abbreviation string) bool {
	for letters := range strings.FieldsSeq(row) {
		if letters == abbreviation {
			return true
		}
	}
	return false
}

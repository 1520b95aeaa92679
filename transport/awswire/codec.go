package awswire

import "fmt"

// codec encodes and decodes one wire protocol. It has no state and is safe for concurrent use.
type codec interface {
	// contentType is the Content-Type of every response.
	contentType() string
	// decode fills a pointer to an SDK input struct. Errors are SerializationException faults. An empty body is an empty input.
	decode(body []byte, in any) error
	// encode writes an SDK output struct without nulls and without ResultMetadata.
	encode(out any) ([]byte, error)
	// encodeError writes the error body of service-api.md 1.3.
	encodeError(code, text string) []byte
}

const metadataField = "ResultMetadata" // a member of all SDK outputs that is not part of the service

func undecodable(format string, args ...any) *Fault {
	return BadRequest(serialization, "the request body cannot be decoded: "+fmt.Sprintf(format, args...))
}

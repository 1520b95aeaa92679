package awswire

import "fmt"

// codec is one wire protocol, without a state: how members, errors and bodies are written. Any goroutine may use it.
type codec interface {
	// contentType goes out with every answer.
	contentType() string
	// decode fills a pointer to an SDK input struct. Errors are SerializationException faults. An empty body is an empty input.
	decode(body []byte, in any) error
	// encode writes an SDK output struct without nulls and without ResultMetadata.
	encode(out any) ([]byte, error)
	// encodeError writes the error body of service-api.md 1.3.
	encodeError(code, text string) []byte
}

const metadataField = "ResultMetadata" // the one member of SDK outputs that is not part of the service

func undecodable(format string, args ...any) *Fault {
	return BadRequest(serialization, "the request body cannot be decoded: "+fmt.Sprintf(format, args...))
}

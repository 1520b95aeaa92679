package awswire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	bodyMax = 1 << 20 // usual maximum of a request body, in bytes

	// bodiesMax limits the bytes of all bodies that are being read at the same time. Bodies up to bodySmall
	// do not count, so slow large bodies do not delay usual requests.
	bodiesMax = 256 << 20
	bodySmall = 64 << 10

	bodyDrainMax = 16 << 20 // maximum bytes of a refused body that are read and discarded, so that the caller receives the response
)

func readBody(r *http.Request, most int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	switch {
	case int64(len(body)) > most:
		return nil, tooLarge(r, most)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, undecodable("it ends too early")
	case err != nil:
		return nil, undecodable("it could not be read")
	}
	return body, nil
}

func tooLarge(r *http.Request, most int64) *Fault {
	drain(r)
	return &Fault{
		Status: http.StatusRequestEntityTooLarge, Code: entityTooLarge,
		Text: fmt.Sprintf("the request body is larger than %d bytes", most),
	}
}

// drain discards the rest of a body, because callers read the response only after they have sent the body.
func drain(r *http.Request) {
	if r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, bodyDrainMax)
	}
}

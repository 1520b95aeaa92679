package awswire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	bodyMax = 1 << 20 // bytes of a usual request

	// bodiesMax bounds all bodies that are being read but small ones: large bodies that come slowly do not delay usual requests.
	bodiesMax = 256 << 20
	bodySmall = 64 << 10

	bodyDrainMax = 16 << 20 // how much of a refused body is read and discarded, so that the caller receives the answer
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

// drain discards the rest of a body, because callers read the answer only after sending it.
func drain(r *http.Request) {
	if r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, bodyDrainMax)
	}
}

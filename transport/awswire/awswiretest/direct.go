package awswiretest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// Base is the base URL for calls through Direct.
const Base = "http://host.example"

// Direct is an http.RoundTripper that passes requests to a handler without a network. The handler gets each
// request as a server would parse it from the wire.
type Direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper. If the caller's context ends, RoundTrip returns without waiting for
// the handler, and the handler's context ends as well.
func (d Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		return nil, err
	}
	read, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithCancelCause(r.Context())
	read.TLS = r.TLS
	w := httptest.NewRecorder()
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done(fmt.Errorf("the handler panics: %v", p))
			}
		}()
		d.ServeHTTP(w, read.WithContext(r.Context()))
		done(errServed)
	}()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, errServed) {
		return nil, err
	}
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

var errServed = errors.New("served")

// Client returns an HTTP client whose requests go to h.
func Client(h http.Handler) *http.Client { return &http.Client{Transport: Direct{h}} }

// Through makes the AWS SDK call a handler.
func Through(h http.Handler) func(*gamelift.Options) {
	return func(o *gamelift.Options) { o.HTTPClient = Client(h) }
}

// Served passes one request to h and decodes the response.
func Served(t *testing.T, h http.Handler, protocol string, r *http.Request) Reply {
	t.Helper()
	r.Host = r.URL.Host
	return Do(t, Client(h), protocol, r)
}

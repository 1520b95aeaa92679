package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"troupe/bench/server"
)

// remote is a host that runs already, of which a benchmark or a fault run uses a fleet. ctx bounds the signing of its calls.
func (c *caller) remote(ctx context.Context, against, fleet string) (*server.Remote, error) {
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	return &server.Remote{
		URL: hostURL(against), Fleet: fleet,
		Client: &http.Client{Timeout: 30 * time.Second, Transport: transport},
		Sign: func(req *http.Request, body []byte) error {
			sum := sha256.Sum256(body)
			return c.sign(ctx, req, hex.EncodeToString(sum[:]))
		},
	}, nil
}

// hostURL is the URL of a host that may be named without http://.
func hostURL(against string) string {
	if strings.Contains(against, "://") {
		return against
	}
	return "http://" + against
}

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

// remote returns a host that is already running, for a benchmark or a fault run on one of its fleets. ctx bounds the
// signing of its calls.
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

// hostURL returns the URL of a host. It adds http:// if there is no scheme.
func hostURL(against string) string {
	if strings.Contains(against, "://") {
		return against
	}
	return "http://" + against
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"troupe/cmd/troupe/internal/reach"
)

// defaultEndpoint is the address of the service API in host.Defaults.
const defaultEndpoint = "http://127.0.0.1:8080"

// endpoint holds the flags of commands that call a host. The flags also read AWS's own environment variables.
type endpoint struct {
	Endpoint string `default:"http://127.0.0.1:8080" aliases:"api" env:"AWS_ENDPOINT_URL_GAMELIFT,AWS_ENDPOINT_URL" placeholder:"URL" help:"URL of the host's service API (${default})."`
	caller
}

// caller holds the credentials for calls to a host and the certificates to trust.
type caller struct {
	Region       string `default:"us-east-1" env:"AWS_REGION,AWS_DEFAULT_REGION" placeholder:"NAME" help:"Region of the host (${default})."`
	AccessKey    string `env:"AWS_ACCESS_KEY_ID" placeholder:"ID" help:"Access key id to sign calls with. Without it, calls are not signed."`
	SecretKey    string `env:"AWS_SECRET_ACCESS_KEY" placeholder:"SECRET" help:"Secret of the access key. Prefer the environment variable: other users of the machine can see flags."`
	SessionToken string `env:"AWS_SESSION_TOKEN" placeholder:"TOKEN" help:"Session token of the access key, if it has one."`
	CA           string `name:"ca" env:"AWS_CA_BUNDLE" placeholder:"FILE" help:"PEM certificates to trust for https, wss and kcp, instead of the system's."`

	dial           func(ctx context.Context, network, address string) (net.Conn, error) // nil: as in package net
	anyCertificate bool                                                                 // do not verify the certificate of an https call
}

// AfterApply makes calls use the network of the command.
func (c *caller) AfterApply(s streams) error {
	if s.network != nil {
		c.dial = s.network.DialContext
	}
	return nil
}

// transport returns the HTTP transport for calls.
func (c *caller) transport() (*http.Transport, error) {
	trusted, err := trusting(c.CA)
	if err != nil {
		return nil, err
	}
	trusted.InsecureSkipVerify = c.anyCertificate //nolint:gosec // only the health of this machine's own host is asked so
	return &http.Transport{TLSClientConfig: trusted, DialContext: c.dial, MaxIdleConnsPerHost: 16, Proxy: http.ProxyFromEnvironment}, nil
}

// games returns the prefix of the ARNs of a host's game sessions.
func (c *caller) games() string { return "arn:aws:gamelift:" + c.Region + "::gamesession/" }

// shortGame returns the short form of a game session's ARN that tables show: its fleet and its id. An ARN of another
// region is returned unchanged. Flags accept the short form as well.
func (c *caller) shortGame(arn string) string { return strings.TrimPrefix(arn, c.games()) }

// gameARN returns the ARN of a game session in short form. Any other text is returned unchanged.
func (c *caller) gameARN(text string) string {
	if fleet, id, ok := strings.Cut(text, "/"); ok && strings.HasPrefix(fleet, "fleet-") && id != "" {
		return c.games() + text
	}
	return text
}

// noBody is the SHA-256 hash of an empty body.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign signs a request. hash is the SHA-256 hash of the body. Without an access key, sign does nothing.
func (c *caller) sign(ctx context.Context, req *http.Request, hash string) error {
	if c.AccessKey == "" {
		return nil
	}
	key := aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey, SessionToken: c.SessionToken}
	return v4.NewSigner().SignHTTP(ctx, key, req, hash, "gamelift", c.Region, time.Now())
}

// ask makes one request on a separate connection. token is the CSRF token, or empty. The caller must close the body of
// the response.
func (e *endpoint) ask(ctx context.Context, method, page string, q url.Values, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(e.Endpoint, "/")+page+"?"+q.Encode(), nil)
	if err != nil {
		return nil, reach.Explain(e.Endpoint, err)
	}
	if token != "" {
		req.Header.Set("X-CSRF-Token", token)
	}
	if err := e.sign(ctx, req, noBody); err != nil {
		return nil, err
	}
	transport, err := e.transport()
	if err != nil {
		return nil, err
	}
	transport.DisableKeepAlives = true
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, reach.Explain(e.Endpoint, err)
	}
	return resp, nil
}

// operator requests one of the pages for operators. The caller must close the body of the response. A status other than
// 200 is an error with the text of the response.
func (e *endpoint) operator(ctx context.Context, method, page string, q url.Values) (*http.Response, error) {
	resp, err := e.ask(ctx, method, page, q, "")
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	if said := strings.TrimSpace(string(text)); said != "" {
		return nil, errors.New(said)
	}
	return nil, fmt.Errorf("%s answers %s", e.Endpoint, resp.Status)
}

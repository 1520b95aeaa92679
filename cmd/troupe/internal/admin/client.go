package admin

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// Options configure a Client.
type Options struct {
	Endpoint string // base URL of the service API
	Region   string
	// AccessKey, SecretKey and SessionToken sign the calls. Without an access key, calls are
	// not signed.
	AccessKey, SecretKey, SessionToken string
	TLS                                *tls.Config // nil: the system's
}

const callTimeout = 30 * time.Second

// Client calls the service API of one host. Build it with New; close it with Close.
type Client struct {
	api       *gamelift.Client
	transport *http.Transport
}

// New returns a Client; it makes no call.
func New(o Options) *Client {
	c := &Client{transport: &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment}}
	c.api = gamelift.New(gamelift.Options{
		Region: o.Region, BaseEndpoint: &o.Endpoint, HTTPClient: &http.Client{Transport: c.transport, Timeout: callTimeout},
		Credentials: credentials(o),
	})
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

func credentials(o Options) aws.CredentialsProvider {
	if o.AccessKey == "" {
		return aws.AnonymousCredentials{}
	}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: o.AccessKey, SecretAccessKey: o.SecretKey, SessionToken: o.SessionToken}, nil
	})
}

// pages collects the items of all pages.
func pages[Out, Item any](ctx context.Context, p interface {
	HasMorePages() bool
	NextPage(ctx context.Context, optFns ...func(*gamelift.Options)) (*Out, error)
}, of func(*Out) []Item) ([]Item, error) {
	all := []Item{}
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, of(out)...)
	}
	return all, nil
}

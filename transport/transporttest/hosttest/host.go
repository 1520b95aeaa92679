package hosttest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/rs/zerolog"

	"troupe/transport"
	"troupe/transport/host"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// Network opens the sockets of a host, of stock clients and of the Go client. It is a memnet.Machine, or
// System.
type Network interface {
	transport.Network
	stock.Network
	Dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)
}

// Host is a host and the network on which it listens. It is closed at the end of the test.
type Host struct {
	*testing.T
	Host *host.Host
	Net  Network
	Web  *http.Client     // uses Net
	API  *gamelift.Client // the SDK client over Net; it does not retry
}

// Config returns the defaults without TLS, on free ports of loopback, and without limits per IP address. Logs
// of game sessions are in a temporary folder of the test.
func Config(t *testing.T) host.Config {
	c := host.Defaults()
	c.API.Addr, c.WebSocket.Addr, c.Fast.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Limits.UnauthenticatedPerIP, c.Limits.ConnectionsPerIPPerSecond = 0, 0
	c.Limits.LoginFailuresPerIPPerMinute, c.Limits.LoginsPerPlayerSessionPerMinute = 0, 0
	c.Log.GameSessions.Dir = t.TempDir()
	return c
}

// Log returns a logger that writes warnings and errors to the test's output.
func Log(t *testing.T) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
}

// Start starts a host on its own in-memory network, unless the options have a Network of this package.
func Start(t *testing.T, o host.Options) *Host {
	t.Helper()
	h := &Host{T: t}
	if o.Network == nil {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		o.Network = network.Machine()
	}
	h.Net = o.Network.(Network)
	if h.Net == System {
		o.Network = nil
	}
	var err error
	if h.Host, err = host.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Host.Close)
	pool := &http.Transport{DialContext: h.Net.DialContext}
	t.Cleanup(pool.CloseIdleConnections)
	h.Web = &http.Client{Transport: pool}
	h.API = gamelift.New(gamelift.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + h.Host.Addrs().API), RetryMaxAttempts: 1, HTTPClient: h.Web,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	return h
}

// Serve serves HTTP at a free port of a network until the test ends, and returns its URL.
func Serve(t *testing.T, on transport.Network, handler http.Handler) (url string) {
	t.Helper()
	l, err := on.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

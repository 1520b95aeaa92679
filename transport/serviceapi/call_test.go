package serviceapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/awswire"
	"troupe/transport/awswire/awswiretest"
)

// Short names for helpers of awswiretest.
type (
	members = awswiretest.Members
	reply   = awswiretest.Reply
)

var (
	inBoth     = awswiretest.InBoth
	encode     = awswiretest.Encode
	mustJSON   = awswiretest.MustJSON
	newRequest = awswiretest.NewRequest
	decoded    = awswiretest.Decoded
	served     = awswiretest.Served
	treeOf     = awswiretest.TreeOf
	items      = awswiretest.Items
)

// Error codes as callers see them.
const (
	invalidRequest     = awswire.InvalidRequest
	serialization      = "SerializationException"
	missingToken       = "MissingAuthenticationTokenException"
	unrecognizedClient = "UnrecognizedClientException"
	invalidSignature   = "InvalidSignatureException"
)

// bodyMax is the largest body of most operations, in bytes.
const bodyMax = 1 << 20

// api is a server over HTTP with a fake Backend, for one test.
type api struct {
	server *Server
	fake   *fakeBackend
	url    string
	client *http.Client
}

func newAPI(t *testing.T, change ...func(*Options)) *api {
	t.Helper()
	fake := newFakeBackend()
	o := Options{Backend: fake, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)}
	for _, c := range change {
		c(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	listener := httptest.NewServer(server)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		listener.Close()
	})
	return &api{server, fake, listener.URL, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

func (a *api) call(t *testing.T, protocol, operation string, in members, headers ...string) reply {
	t.Helper()
	return a.raw(t, protocol, operation, encode(t, protocol, in), headers...)
}

func (a *api) raw(t *testing.T, protocol, operation string, body []byte, headers ...string) reply {
	t.Helper()
	return awswiretest.Call(t, a.client, a.url, protocol, operation, body, headers...)
}

func (a *api) do(t *testing.T, protocol string, r *http.Request) reply {
	t.Helper()
	return awswiretest.Do(t, a.client, protocol, r)
}

func (a *api) newGameSession(t *testing.T, seats int) string {
	t.Helper()
	out := a.call(t, "json", "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": seats}).OK(t)
	return out["GameSession"].(members)["GameSessionId"].(string)
}

// newSilentServer is a server without a listener.
func newSilentServer(t *testing.T, change ...func(*Options)) *Server {
	t.Helper()
	o := Options{Backend: newFakeBackend()}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

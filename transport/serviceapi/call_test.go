package serviceapi

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/transport/awswire"
	"troupe/transport/awswire/awswiretest"
	"troupe/transport/serviceapi/serviceapitest"
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

const defaultRegion = "us-east-1"

// api is a server with a fake Backend, for one test.
type api struct {
	*Server
	fake *fakeBackend
}

func newAPI(t *testing.T, change ...func(*Options)) *api {
	t.Helper()
	fake := newFakeBackend()
	o := Options{
		Backend: fake, Region: defaultRegion, Account: "000000000000", Counters: new(counters.Set),
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel),
	}
	for _, c := range change {
		c(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return &api{server, fake}
}

// sdk returns an AWS SDK client of the API. prefix is the path prefix of its requests.
func (a *api) sdk(t *testing.T, prefix string, options ...func(*gamelift.Options)) *gamelift.Client {
	t.Helper()
	return serviceapitest.SDKClient(t, awswiretest.Base+prefix, append([]func(*gamelift.Options){awswiretest.Through(a)}, options...)...)
}

func (a *api) call(t *testing.T, protocol, operation string, in members, headers ...string) reply {
	t.Helper()
	return a.raw(t, protocol, operation, encode(t, protocol, in), headers...)
}

func (a *api) raw(t *testing.T, protocol, operation string, body []byte, headers ...string) reply {
	t.Helper()
	return awswiretest.Call(t, awswiretest.Client(a), awswiretest.Base, protocol, operation, body, headers...)
}

func (a *api) newGameSession(t *testing.T, seats int) string {
	t.Helper()
	out := a.call(t, "json", "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": seats}).OK(t)
	return out["GameSession"].(members)["GameSessionId"].(string)
}

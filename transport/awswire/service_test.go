package awswire

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/transport/awswire/awswiretest"
)

// Short names for types of awswiretest.
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
)

const (
	testKey    = awswiretest.Key
	testSecret = awswiretest.Secret
	tokenKey   = awswiretest.TokenKey
	testToken  = awswiretest.Token

	bodyScriptMax = 8 << 20
	fleetOne      = "fleet-one"
)

var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 57_400_000, time.UTC)

// service has the operations that the tests call, with minimal implementations.
type service struct {
	created atomic.Int64
	hook    func(ctx context.Context) error // called first in every create
}

var errRefused = BadRequest("FleetCapacityExceededException", "full")

func (s *service) operations() []Operation {
	idle := func(name string) Operation { return Refuse(name, "", Invalid("not here")) }
	return []Operation{
		Op("ListFleets", "", func(_ context.Context, in *gamelift.ListFleetsInput) (*gamelift.ListFleetsOutput, error) {
			return &gamelift.ListFleetsOutput{FleetIds: []string{"fleet-one"}}, nil
		}),
		Op("DescribeFleetAttributes", "", func(context.Context, *gamelift.DescribeFleetAttributesInput) (*gamelift.DescribeFleetAttributesOutput, error) {
			return &gamelift.DescribeFleetAttributesOutput{}, nil
		}),
		Op("DescribeGameSessions", "", func(context.Context, *gamelift.DescribeGameSessionsInput) (*gamelift.DescribeGameSessionsOutput, error) {
			return &gamelift.DescribeGameSessionsOutput{}, nil
		}),
		Op("CreateGameSession", "", s.create, Rule{"FleetId", false, Either}, Rule{"MaximumPlayerSessionCount", true, Number(0, 200)}).WithBody(4 << 20),
		Op("CreatePlayerSession", "", func(_ context.Context, in *gamelift.CreatePlayerSessionInput) (*gamelift.CreatePlayerSessionOutput, error) {
			return &gamelift.CreatePlayerSessionOutput{PlayerSession: &types.PlayerSession{PlayerSessionId: new(fmt.Sprint("psess-", s.created.Add(1))), PlayerId: in.PlayerId}}, nil
		}, Rule{"GameSessionId", true, Either}, Rule{"PlayerId", true, Text(1, 1024, "")}),
		Op("CreatePlayerSessions", "", func(context.Context, *gamelift.CreatePlayerSessionsInput) (*gamelift.CreatePlayerSessionsOutput, error) {
			return &gamelift.CreatePlayerSessionsOutput{}, nil
		}),
		Op("CreateScript", "", func(context.Context, *gamelift.CreateScriptInput) (*gamelift.CreateScriptOutput, error) {
			return &gamelift.CreateScriptOutput{}, nil
		}).WithBody(bodyScriptMax),
		idle("ListScripts"), idle("DeleteFleet"), idle("ClaimGameServer"),
	}
}

func (s *service) create(ctx context.Context, in *gamelift.CreateGameSessionInput) (*gamelift.CreateGameSessionOutput, error) {
	if s.hook != nil {
		if err := s.hook(ctx); err != nil {
			return nil, err
		}
	}
	return &gamelift.CreateGameSessionOutput{GameSession: &types.GameSession{GameSessionId: new(fmt.Sprint("gsess-", s.created.Add(1)))}}, nil
}

// names returns the names of all operations of the service.
func names() (all []string) {
	for _, o := range new(service).operations() {
		all = append(all, o.Name)
	}
	return all
}

// api is a Server for the fake service.
type api struct {
	*Server
	fake *service
}

func newAPI(t *testing.T, change ...func(*Options)) *api {
	t.Helper()
	fake := new(service)
	o := Options{
		Operations: fake.operations(), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel),
		Requests: new(atomic.Int64), Errors: new(atomic.Int64), Called: func(string, time.Duration, string) {},
	}
	for _, c := range change {
		c(&o)
	}
	return &api{New(o), fake}
}

func (a *api) call(t *testing.T, protocol, operation string, in members, headers ...string) reply {
	t.Helper()
	return a.raw(t, protocol, operation, encode(t, protocol, in), headers...)
}

func (a *api) raw(t *testing.T, protocol, operation string, body []byte, headers ...string) reply {
	t.Helper()
	return awswiretest.Call(t, awswiretest.Client(a), awswiretest.Base, protocol, operation, body, headers...)
}

// withKeys makes the API require signatures by testKey, or by tokenKey with a session token.
func withKeys(change ...func(*SigV4Options)) func(*Options) {
	return func(o *Options) {
		s := SigV4Options{
			Keys:       []Key{{ID: testKey, Secret: testSecret}, {ID: tokenKey, Secret: testSecret, SessionToken: testToken}},
			Operations: names(), Regions: []string{awswiretest.Region}, Now: o.Now,
		}
		for _, c := range change {
			c(&s)
		}
		v, err := NewSigV4(s)
		if err != nil {
			panic(err) // an error in the test
		}
		o.Authenticator = v.Authenticate
	}
}

package serviceapi

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"troupe/messages"
	"troupe/transport/awswire/awswiretest"
)

// The numbers refer to the conformance checklist in service-api.md 8.

// API-1.
func TestJSONRequestsAreAnswered(t *testing.T) {
	a := newAPI(t)
	r := a.raw(t, "json", "ListFleets", []byte(`{}`))
	if ids := r.OK(t)["FleetIds"].([]any); len(ids) != 2 || ids[0] != fleetOne {
		t.Errorf("got fleets %v", ids)
	}
	if got := r.Header.Get("Content-Type"); got != "application/x-amz-json-1.1" {
		t.Errorf("got content type %q", got)
	}
	if r.Header.Get("Smithy-Protocol") != "" {
		t.Error("JSON response has a smithy-protocol header")
	}
	a.raw(t, "json", "ListFleets", nil).OK(t)
}

// API-2.
func TestCBORRequestsAreAnswered(t *testing.T) {
	a := newAPI(t)
	r := a.raw(t, "cbor", "ListFleets", []byte{0xa0})
	if ids := r.OK(t)["FleetIds"].([]any); len(ids) != 2 {
		t.Errorf("got fleets %v", ids)
	}
	if got := r.Header.Get("Content-Type"); got != "application/cbor" {
		t.Errorf("got content type %q", got)
	}
	if got := r.Header.Get("Smithy-Protocol"); got != "rpc-v2-cbor" {
		t.Errorf("got smithy-protocol %q", got)
	}
	a.raw(t, "cbor", "ListFleets", nil).OK(t)
	a.raw(t, "cbor", "ListFleets", []byte{0xbf, 0xff}).OK(t) // indefinite empty map
}

// API-4.
func TestCBORErrorsCarryTheProtocol(t *testing.T) {
	a := newAPI(t)
	for name, r := range map[string]reply{
		"modeled":       a.call(t, "cbor", "DescribeGameSessions", members{}),
		"serialization": a.raw(t, "cbor", "ListFleets", []byte{0x01}),
		"unknown":       a.call(t, "cbor", "NoSuchThing", members{}),
		"too large":     a.raw(t, "cbor", "ListFleets", make([]byte, bodyMax+1)),
	} {
		if r.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" || r.Header.Get("Content-Type") != "application/cbor" {
			t.Errorf("%s: headers %v", name, r.Header)
		}
	}
}

// API-5.
func TestEveryResponseHasARequestIDAndADate(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	a := newAPI(t, func(o *Options) { o.Now = func() time.Time { return now } })
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	inBoth(t, func(t *testing.T, protocol string) {
		seen := map[string]bool{}
		for _, r := range []reply{
			a.call(t, protocol, "ListFleets", members{}),
			a.call(t, protocol, "DescribeGameSessions", members{}),
			a.call(t, protocol, "NoSuchThing", members{}),
			a.raw(t, protocol, "ListFleets", []byte("?")),
		} {
			id := r.Header.Get("x-amzn-RequestId")
			if !form.MatchString(id) || seen[id] {
				t.Errorf("bad or repeated request id %q", id)
			}
			seen[id] = true
			if got := r.Header.Get("Date"); got != "Tue, 06 May 2031 07:08:09 GMT" {
				t.Errorf("got date %q", got)
			}
			if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Length") == "" {
				t.Errorf("headers %v", r.Header)
			}
			if code := r.Code(); r.Header.Get("x-amzn-ErrorType") != code {
				t.Errorf("error type %q, code %q", r.Header.Get("x-amzn-ErrorType"), code)
			}
		}
	})
}

// API-6.
func TestErrorBodiesHaveATypeAndBothMessages(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		r := a.call(t, protocol, "DescribeGameSessions", members{}).Want(t, 400, invalidRequest)
		if len(r.Body) != 3 {
			t.Errorf("body %v", r.Body)
		}
	})
}

// API-7.
func TestOnlyFaultsOfTheHostAre500(t *testing.T) {
	a := newAPI(t)
	everything := "CreateGameSession" // this operation declares most exceptions
	cases := []struct {
		operation string
		err       error
		status    int
		code      string
	}{
		{everything, messages.Errorf(messages.InvalidRequest, "no"), 400, invalidRequest},
		{everything, messages.Errorf(messages.NotFound, "no"), 400, "NotFoundException"},
		{everything, messages.Errorf(messages.InvalidFleetStatus, "no"), 400, "InvalidFleetStatusException"},
		{everything, messages.Errorf(messages.FleetCapacityExceeded, "no"), 400, "FleetCapacityExceededException"},
		{everything, messages.Errorf(messages.LimitExceeded, "no"), 400, "LimitExceededException"},
		{everything, messages.Errorf(messages.IdempotentMismatch, "no"), 400, "IdempotentParameterMismatchException"},
		{everything, messages.Errorf(messages.TerminalRouting, "no"), 400, "TerminalRoutingStrategyException"},
		{everything, messages.Errorf(messages.Conflict, "no"), 400, "ConflictException"},
		{everything, messages.Errorf(messages.GameSessionFull, "no"), 400, invalidRequest}, // not declared
		{everything, messages.Errorf(messages.InvalidGameSessionStatus, "no"), 400, invalidRequest},
		{"ListFleets", messages.Errorf(messages.Conflict, "no"), 400, invalidRequest},
		{everything, messages.Errorf(messages.Internal, "no"), 500, "InternalServiceException"},
		{everything, messages.Errorf(messages.Unavailable, "draining"), 503, "ServiceUnavailable"},
		{everything, errors.New("secret detail"), 500, "InternalServiceException"},
		{everything, context.DeadlineExceeded, 500, "InternalServiceException"},
		{everything, context.Canceled, 503, "ServiceUnavailable"},
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, c := range cases {
			a.fake.fail = c.err
			r := a.call(t, protocol, c.operation, members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}).Want(t, c.status, c.code)
			if strings.Contains(string(r.Raw), "secret") {
				t.Errorf("the response shows %s", r.Raw)
			}
		}
	})
}

// API-7.
func TestGameSessionErrorsOfPlayerSessionsAre400(t *testing.T) {
	a := newAPI(t)
	in := members{"GameSessionId": a.newGameSession(t, 1), "PlayerId": "p"}
	a.fake.fail = messages.Errorf(messages.InvalidGameSessionStatus, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).Want(t, 400, "InvalidGameSessionStatusException")
	a.fake.fail = messages.Errorf(messages.GameSessionFull, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).Want(t, 400, "GameSessionFullException")
	a.fake.fail = messages.Errorf(messages.FleetCapacityExceeded, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).Want(t, 400, invalidRequest)
}

// API-8.
func TestAnUnknownOperationIsRefused(t *testing.T) {
	a := newAPI(t)
	const unknown = "UnknownOperationException"
	inBoth(t, func(t *testing.T, protocol string) {
		for _, name := range []string{"NoSuchThing", "listFleets", "", "ListFleets/", strings.Repeat("x", 3000)} {
			a.call(t, protocol, name, members{}).Want(t, 400, unknown)
		}
	})
	other := newRequest("json", awswiretest.Base, "ListFleets", nil)
	other.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	served(t, a, "json", other).Want(t, 400, unknown)
	bare := newRequest("json", awswiretest.Base, "ListFleets", nil)
	bare.Header.Del("X-Amz-Target")
	served(t, a, "json", bare).Want(t, 400, unknown)
	half := newRequest("cbor", awswiretest.Base, "ListFleets", nil)
	half.Header.Del("Smithy-Protocol")
	served(t, a, "cbor", half).Want(t, 400, unknown)
	// a protocol header that is not signed must not choose the operation
	added := newRequest("json", awswiretest.Base, "ListFleets", nil)
	added.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	served(t, a, "cbor", added).Want(t, 400, unknown)
}

// API-10.
func TestUnknownMembersAreIgnored(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "DescribeFleetAttributes", members{
			"FleetIds": []string{fleetOne}, "fleetids": 7, "FutureMember": members{"Deep": []any{1, nil, true, members{}}},
		}).OK(t)
		if len(items(t, out, "FleetAttributes")) != 1 {
			t.Errorf("got %v", out)
		}
		a.call(t, protocol, "ListFleets", members{"Limit": nil, "NextToken": nil}).OK(t) // null means absent
	})
}

// outputs calls every operation successfully. It returns the replies, which have the raw body and the decoded
// one.
func outputs(t *testing.T, a *api, protocol string) map[string]reply {
	t.Helper()
	out := map[string]reply{}
	call := func(operation string, in members) members {
		out[operation] = a.call(t, protocol, operation, in)
		return out[operation].OK(t)
	}
	created := call("CreateGameSession", members{
		"FleetId": fleetOne, "MaximumPlayerSessionCount": 4, "GameProperties": []members{{"Key": "", "Value": ""}},
	})
	id := created["GameSession"].(members)["GameSessionId"]
	call("DescribeGameSessions", members{"GameSessionId": id})
	call("SearchGameSessions", members{"FleetId": fleetOne})
	call("CreatePlayerSession", members{"GameSessionId": id, "PlayerId": "a"})
	call("CreatePlayerSessions", members{"GameSessionId": id, "PlayerIds": []string{"b", "c"}})
	call("DescribePlayerSessions", members{"GameSessionId": id})
	call("ListFleets", members{})
	call("DescribeFleetAttributes", members{})
	for _, name := range emptyLists {
		call(name, members{})
	}
	return out
}

var emptyLists = []string{"ListContainerFleets", "ListContainerGroupDefinitions", "ListGameServerGroups",
	"DescribeVpcPeeringAuthorizations", "DescribeVpcPeeringConnections", "ListBuilds"}

// API-11.
func TestNoNullsAndNoMetadata(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for name, r := range outputs(t, a, protocol) {
			if protocol == "json" {
				var body any
				if err := json.Unmarshal(r.Raw, &body); err != nil {
					t.Fatal(err)
				}
				noNulls(t, name, body)
			} else {
				tree, err := cbor.Decode(r.Raw)
				if err != nil {
					t.Fatal(err)
				}
				noCBORNulls(t, name, tree)
			}
		}
	})
}

func noNulls(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null", path)
	case string:
		if v == "" && !strings.Contains(path, "GameProperties") {
			t.Errorf("%s is an empty text", path)
		}
	case map[string]any:
		for k, entry := range v {
			if k == "ResultMetadata" {
				t.Errorf("%s has ResultMetadata", path)
			}
			noNulls(t, path+"."+k, entry)
		}
	case []any:
		for _, entry := range v {
			noNulls(t, path, entry)
		}
	}
}

func noCBORNulls(t *testing.T, path string, v cbor.Value) {
	t.Helper()
	switch v := v.(type) {
	case *cbor.Nil, *cbor.Undefined, nil:
		t.Errorf("%s is null", path)
	case cbor.Map:
		for k, entry := range v {
			if k == "ResultMetadata" {
				t.Errorf("%s has ResultMetadata", path)
			}
			noCBORNulls(t, path+"."+k, entry)
		}
	case cbor.List:
		for _, entry := range v {
			noCBORNulls(t, path, entry)
		}
	}
}

// API-12.
func TestTimestampsSurviveARoundTrip(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 1) // created at 12:00:00.0584, shown rounded to the millisecond
	want := epochStart.Add(time.Millisecond).Round(time.Millisecond).UnixMilli()
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "DescribeGameSessions", members{"GameSessionId": id}).OK(t)
		seconds := items(t, out, "GameSessions")[0]["CreationTime"].(float64)
		if got := int64(math.Round(seconds * 1000)); got != want {
			t.Errorf("got %d ms, want %d", got, want)
		}
	})
	text := string(a.call(t, "json", "DescribeGameSessions", members{"GameSessionId": id}).Raw)
	if !strings.Contains(text, `"CreationTime":1772366400.058`) {
		t.Errorf("not a number with three decimals: %s", text)
	}
}

// API-13.
func TestZerosArePresent(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 0}).OK(t)
		g := out["GameSession"].(members)
		for _, name := range []string{"CurrentPlayerSessionCount", "MaximumPlayerSessionCount"} {
			if n, ok := g[name].(float64); !ok || n != 0 {
				t.Errorf("%s is %v in %v", name, g[name], g)
			}
		}
	})
}

func TestAPIBodyCaps(t *testing.T) {
	a := newAPI(t)
	cases := []struct {
		operation string
		size      int
		status    int
	}{
		{"ListFleets", bodyMax, 200},
		{"ListFleets", bodyMax + 1, 413},
		{"CreateGameSession", bodyMax + 1, 400}, // decoded, then refused for missing members
		{"CreateGameSession", bodyDataMax + 1, 413},
		{"CreateScript", bodyScriptMax, 400}, // the operation is unavailable with this input
		{"UpdateScript", bodyScriptMax + 1, 413},
		{"NoSuchThing", bodyMax + 1, 413}, // the size is checked first
	}
	for _, c := range cases {
		r := a.raw(t, "json", c.operation, []byte("{"+strings.Repeat(" ", c.size-2)+"}"))
		if r.Status != c.status {
			t.Errorf("%s with %d bytes: got %d %v, want %d", c.operation, c.size, r.Status, r.Body, c.status)
		}
		if c.status == 413 && r.Code() != "RequestEntityTooLargeException" {
			t.Errorf("got code %q", r.Code())
		}
	}
}

// All attempts of one call have the same replay key on every host.
func TestTheBackendKnowsTheReplayKey(t *testing.T) {
	var got []string
	keyed := func() *api {
		a := newAPI(t)
		a.fake.hook = func(ctx context.Context) error {
			got = append(got, messages.ReplayKey(ctx))
			return messages.Errorf(messages.Unavailable, "try again")
		}
		return a
	}
	one, another := keyed(), keyed()
	body := encode(t, "json", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1})
	for _, a := range []*api{one, one, another} {
		a.raw(t, "json", "CreateGameSession", body, "Amz-Sdk-Invocation-Id", "call-1")
	}
	one.raw(t, "json", "CreateGameSession", body, "Amz-Sdk-Invocation-Id", "call-2")
	one.raw(t, "json", "CreateGameSession", body)
	if len(got) != 5 || len(got[0]) != 64 || got[1] != got[0] || got[2] != got[0] || len(got[3]) != 64 || got[3] == got[0] || got[4] != "" {
		t.Errorf("got the keys %q", got)
	}
}

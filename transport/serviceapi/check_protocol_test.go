package serviceapi

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"troupe/messages"
)

// The numbers are those of the conformance checklist, service-api.md 8.

func TestAPICheck01_JSONListFleets(t *testing.T) {
	a := newAPI(t)
	r := a.raw(t, "json", "ListFleets", []byte(`{}`))
	if ids := r.ok(t)["FleetIds"].([]any); len(ids) != 2 || ids[0] != fleetOne {
		t.Errorf("got fleets %v", ids)
	}
	if got := r.header.Get("Content-Type"); got != "application/x-amz-json-1.1" {
		t.Errorf("got content type %q", got)
	}
	if r.header.Get("Smithy-Protocol") != "" {
		t.Error("JSON response has a smithy-protocol header")
	}
	a.raw(t, "json", "ListFleets", nil).ok(t)
}

func TestAPICheck02_CBORListFleets(t *testing.T) {
	a := newAPI(t)
	r := a.raw(t, "cbor", "ListFleets", []byte{0xa0})
	if ids := r.ok(t)["FleetIds"].([]any); len(ids) != 2 {
		t.Errorf("got fleets %v", ids)
	}
	if got := r.header.Get("Content-Type"); got != "application/cbor" {
		t.Errorf("got content type %q", got)
	}
	if got := r.header.Get("Smithy-Protocol"); got != "rpc-v2-cbor" {
		t.Errorf("got smithy-protocol %q", got)
	}
	a.raw(t, "cbor", "ListFleets", nil).ok(t)
	a.raw(t, "cbor", "ListFleets", []byte{0xbf, 0xff}).ok(t) // indefinite empty map
}

func TestAPICheck03_PathPrefix(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, prefix := range []string{"/", "/p", "/p/", "/a/b~c/d"} {
			r := newRequest(protocol, a.url+prefix, "ListFleets", nil)
			a.do(t, protocol, r).ok(t)
		}
	})
}

func TestAPICheck04_CBORErrorsCarryTheProtocol(t *testing.T) {
	a := newAPI(t)
	for name, r := range map[string]reply{
		"modeled":       a.call(t, "cbor", "DescribeGameSessions", members{}),
		"serialization": a.raw(t, "cbor", "ListFleets", []byte{0x01}),
		"unknown":       a.call(t, "cbor", "NoSuchThing", members{}),
		"too large":     a.raw(t, "cbor", "ListFleets", make([]byte, bodyMax+1)),
	} {
		if r.header.Get("Smithy-Protocol") != "rpc-v2-cbor" || r.header.Get("Content-Type") != "application/cbor" {
			t.Errorf("%s: headers %v", name, r.header)
		}
	}
}

func TestAPICheck05_RequestIDAndDate(t *testing.T) {
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
			id := r.header.Get("x-amzn-RequestId")
			if !form.MatchString(id) || seen[id] {
				t.Errorf("bad or repeated request id %q", id)
			}
			seen[id] = true
			if got := r.header.Get("Date"); got != "Tue, 06 May 2031 07:08:09 GMT" {
				t.Errorf("got date %q", got)
			}
			if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Content-Length") == "" {
				t.Errorf("headers %v", r.header)
			}
			if code := r.code(); r.header.Get("x-amzn-ErrorType") != code {
				t.Errorf("error type %q, code %q", r.header.Get("x-amzn-ErrorType"), code)
			}
		}
	})
}

func TestAPICheck06_ErrorBody(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		r := a.call(t, protocol, "DescribeGameSessions", members{}).want(t, 400, invalidRequest)
		if len(r.body) != 3 {
			t.Errorf("body %v", r.body)
		}
	})
}

func TestAPICheck07_StatusOfErrors(t *testing.T) {
	a := newAPI(t)
	everything := "CreateGameSession" // declares most exceptions
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
			r := a.call(t, protocol, c.operation, members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}).want(t, c.status, c.code)
			if strings.Contains(string(r.raw), "secret") {
				t.Errorf("the response shows %s", r.raw)
			}
		}
	})
}

func TestAPICheck07_GameSessionErrorsOfPlayerSessions(t *testing.T) {
	a := newAPI(t)
	in := members{"GameSessionId": a.newGameSession(t, 1), "PlayerId": "p"}
	a.fake.fail = messages.Errorf(messages.InvalidGameSessionStatus, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).want(t, 400, "InvalidGameSessionStatusException")
	a.fake.fail = messages.Errorf(messages.GameSessionFull, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).want(t, 400, "GameSessionFullException")
	a.fake.fail = messages.Errorf(messages.FleetCapacityExceeded, "no")
	a.call(t, "cbor", "CreatePlayerSession", in).want(t, 400, invalidRequest)
}

func TestAPICheck08_UnknownOperation(t *testing.T) {
	a := newAPI(t)
	const unknown = "UnknownOperationException"
	inBoth(t, func(t *testing.T, protocol string) {
		for _, name := range []string{"NoSuchThing", "listFleets", "", "ListFleets/", strings.Repeat("x", 3000)} {
			a.call(t, protocol, name, members{}).want(t, 400, unknown)
		}
	})
	other := newRequest("json", a.url, "ListFleets", nil)
	other.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	a.do(t, "json", other).want(t, 400, unknown)
	bare := newRequest("json", a.url, "ListFleets", nil)
	bare.Header.Del("X-Amz-Target")
	a.do(t, "json", bare).want(t, 400, unknown)
	half := newRequest("cbor", a.url, "ListFleets", nil)
	half.Header.Del("Smithy-Protocol")
	a.do(t, "cbor", half).want(t, 400, unknown)
	added := newRequest("json", a.url, "ListFleets", nil) // an unsigned header must not choose the operation
	added.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	a.do(t, "cbor", added).want(t, 400, unknown)
}

func TestAPIMethodsOtherThanPost(t *testing.T) {
	a := newAPI(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		r := newRequest("json", a.url+"/x", "ListFleets", nil)
		r.Method = method
		got := a.do(t, "json", r).want(t, 405, "UnknownOperationException")
		if got.header.Get("Allow") != "POST" || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", method, got.header)
		}
	}
}

func TestAPICheck09_UndecodableBody(t *testing.T) {
	a := newAPI(t)
	bodies := map[string][]string{
		"json": {
			`{`, `[]`, `null`, `7`, `"x"`, `{} {}`, `{"Limit":"1"}`, `{"Limit":1.0}`, `{"Limit":1e0}`, `{"Limit":99999999999}`, `{"NextToken":7}`,
			`{"Limit":1,"Limit":2}`, "{\"NextToken\":\"\xff\"}", `{"NextToken":"\ud800"}`, `{"Limit":[1]}`, strings.Repeat(`{"a":`, 20_000),
		},
		"cbor": {
			"\xff", "\x80", "\xf6", "\x01", "\xa0\xa0", "\xa1", "\xa1\x01\x01", "\xbf", "\xbf\x61a",
			"\xa1\x65Limit\x61\x31",                             // text for a number
			"\xa1\x65Limit\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", // float for an integer
			"\xa1\x65Limit\x1b\x00\x00\x00\x01\x00\x00\x00\x00", // over 32 bits
			"\xa1\x65Limit\x1b\xff\xff\xff\xff\xff\xff\xff\xff", // over 63 bits
			"\xa2\x65Limit\x01\x65Limit\x02",                    // key twice
			"\xa1\x69NextToken\x61\xff",                         // not UTF-8
			"\xa1\x61a" + strings.Repeat("\x81", 100),           // deep
			"\xa1\x61a" + strings.Repeat("\xc1", 100_000),       // deep in tags
			"\xa1\x61a\x9a\xff\xff\xff\xff",                     // a list of 2^32-1 items
			"\xa1\x61a\x9b\xff\xff\xff\xff\xff\xff\xff\xff",     // of 2^64-1 items
			"\xa1\x61a\x9a\x00\x02\x00\x00" + strings.Repeat("\xf6", 1<<17),
		},
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, body := range bodies[protocol] {
			r := a.raw(t, protocol, "DescribeGameSessions", []byte(body))
			if r.status != 400 || r.code() != "SerializationException" {
				t.Errorf("%.40q: got %d %v", body, r.status, r.body)
			}
			if text, _ := r.body["message"].(string); strings.Contains(text, "Go ") || len(text) > 300 {
				t.Errorf("%.40q: text %q", body, text)
			}
		}
	})
}

func TestAPICheck10_UnknownMembersIgnored(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "DescribeFleetAttributes", members{
			"FleetIds": []string{fleetOne}, "fleetids": 7, "FutureMember": members{"Deep": []any{1, nil, true, members{}}},
		}).ok(t)
		if len(items(t, out, "FleetAttributes")) != 1 {
			t.Errorf("got %v", out)
		}
		a.call(t, protocol, "ListFleets", members{"Limit": nil, "NextToken": nil}).ok(t) // null is absent
	})
}

// outputs calls every operation that succeeds and returns the decoded bodies,
// raw JSON and CBOR trees included.
func outputs(t *testing.T, a *api, protocol string) map[string]reply {
	t.Helper()
	out := map[string]reply{}
	call := func(operation string, in members) members {
		out[operation] = a.call(t, protocol, operation, in)
		return out[operation].ok(t)
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

func TestAPICheck11_NoNullsAndNoMetadata(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for name, r := range outputs(t, a, protocol) {
			if protocol == "json" {
				var body any
				if err := json.Unmarshal(r.raw, &body); err != nil {
					t.Fatal(err)
				}
				noNulls(t, name, body)
			} else {
				tree, err := cbor.Decode(r.raw)
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

func TestAPICheck12_Timestamps(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 1) // created at 12:00:00.0584, shown to the ms
	want := epochStart.Add(time.Millisecond).Round(time.Millisecond).UnixMilli()
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "DescribeGameSessions", members{"GameSessionId": id}).ok(t)
		seconds := items(t, out, "GameSessions")[0]["CreationTime"].(float64)
		if got := int64(math.Round(seconds * 1000)); got != want {
			t.Errorf("got %d ms, want %d", got, want)
		}
	})
	text := string(a.call(t, "json", "DescribeGameSessions", members{"GameSessionId": id}).raw)
	if !strings.Contains(text, `"CreationTime":1772366400.058`) {
		t.Errorf("not a number with three decimals: %s", text)
	}
}

func TestAPICheck13_ZerosArePresent(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		out := a.call(t, protocol, "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 0}).ok(t)
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
		{"CreateGameSession", bodyMax + 1, 400}, // decoded, and misses members
		{"CreateGameSession", bodyDataMax + 1, 413},
		{"CreateScript", bodyScriptMax, 400}, // a stub
		{"UpdateScript", bodyScriptMax + 1, 413},
		{"NoSuchThing", bodyMax + 1, 413}, // size comes first
	}
	for _, c := range cases {
		r := a.raw(t, "json", c.operation, []byte("{"+strings.Repeat(" ", c.size-2)+"}"))
		if r.status != c.status {
			t.Errorf("%s with %d bytes: got %d %v, want %d", c.operation, c.size, r.status, r.body, c.status)
		}
		if c.status == 413 && r.code() != "RequestEntityTooLargeException" {
			t.Errorf("got code %q", r.code())
		}
	}
}

func TestAPIPanicIsAnswered(t *testing.T) {
	a := newAPI(t, func(o *Options) { o.Log = o.Log.Level(5) })
	a.fake.hook = func(context.Context) error { panic("boom") }
	inBoth(t, func(t *testing.T, protocol string) {
		in := members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}
		r := a.call(t, protocol, "CreateGameSession", in).want(t, 500, "InternalServiceException")
		if strings.Contains(string(r.raw), "boom") {
			t.Errorf("the response shows the panic: %s", r.raw)
		}
		// A panicked attempt does not block the next one of the same invocation.
		for range 2 {
			a.call(t, protocol, "CreateGameSession", in, "Amz-Sdk-Invocation-Id", "i").want(t, 500, "InternalServiceException")
		}
	})
	if a.server.options.Counters.APIErrors.Load() != 6 || a.server.options.Counters.APIRequests.Load() != 6 {
		t.Errorf("counted %d errors of %d", a.server.options.Counters.APIErrors.Load(), a.server.options.Counters.APIRequests.Load())
	}
}

func TestAPIAuthenticatorSeam(t *testing.T) {
	var got Caller
	a := newAPI(t, func(o *Options) {
		o.Authenticator = func(r *http.Request) (Proof, error) {
			got = claimed(r)
			switch got.AccessKey {
			case "AKIDBAD":
				return nil, &AuthError{"UnrecognizedClientException", "no such key"}
			case "AKIDBUG":
				return nil, errors.New("bug")
			}
			return Anyone(r)
		}
	})
	header := func(key string) string {
		return "AWS4-HMAC-SHA256 Credential=" + key + "/20260301/eu-west-1/gamelift/aws4_request, SignedHeaders=host, Signature=00"
	}
	a.call(t, "json", "ListFleets", members{}, "Authorization", header("AKIDGOOD")).ok(t)
	if got != (Caller{AccessKey: "AKIDGOOD", Region: "eu-west-1"}) {
		t.Errorf("got caller %v", got)
	}
	// Authentication comes before the operation is known.
	a.call(t, "cbor", "NoSuchThing", members{}, "Authorization", header("AKIDBAD")).want(t, 400, "UnrecognizedClientException")
	a.call(t, "json", "ListFleets", members{}, "Authorization", header("AKIDBUG")).want(t, 500, "InternalServiceException")
	for _, odd := range []string{"", "Bearer x", "AWS4-HMAC-SHA256 Credential=a/b", "Credential=////////", "Credential=" + strings.Repeat("/", 9999)} {
		a.call(t, "json", "ListFleets", members{}, "Authorization", odd).ok(t)
		if got != (Caller{}) {
			t.Errorf("%.40q: got caller %v", odd, got)
		}
	}
}

// A web page whose name was turned to this machine is of the same origin as the API, so no preflight is in its way.
func TestWebPagesDoNotCallWithoutKeys(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		if r := a.call(t, protocol, "ListFleets", members{}, "Origin", "http://rebound.example"); r.status != 400 || r.code() != accessDenied {
			t.Errorf("answered %d %v", r.status, r.body)
		}
	})
}

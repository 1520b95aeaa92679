package awswire

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"troupe/transport/awswire/awswiretest"
)

func TestAPIMethodsOtherThanPost(t *testing.T) {
	a := newAPI(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		r := newRequest("json", awswiretest.Base+"/x", "ListFleets", nil)
		r.Method = method
		got := served(t, a, "json", r).Want(t, 405, "UnknownOperationException")
		if got.Header.Get("Allow") != "POST" || got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", method, got.Header)
		}
	}
}

// API-9.
func TestAnUndecodableBodyIsRefused(t *testing.T) {
	a := newAPI(t)
	bodies := map[string][]string{
		"json": {
			`{`, `[]`, `null`, `7`, `"x"`, `{} {}`, `{"Limit":"1"}`, `{"Limit":1.0}`, `{"Limit":1e0}`, `{"Limit":99999999999}`, `{"NextToken":7}`,
			`{"Limit":1,"Limit":2}`, "{\"NextToken\":\"\xff\"}", `{"NextToken":"\ud800"}`, `{"Limit":[1]}`, strings.Repeat(`{"a":`, 20_000),
		},
		"cbor": {
			"\xff", "\x80", "\xf6", "\x01", "\xa0\xa0", "\xa1", "\xa1\x01\x01", "\xbf", "\xbf\x61a",
			"\xa1\x65Limit\x61\x31",                             // text instead of a number
			"\xa1\x65Limit\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", // float instead of an integer
			"\xa1\x65Limit\x1b\x00\x00\x00\x01\x00\x00\x00\x00", // more than 32 bits
			"\xa1\x65Limit\x1b\xff\xff\xff\xff\xff\xff\xff\xff", // more than 63 bits
			"\xa2\x65Limit\x01\x65Limit\x02",                    // duplicate key
			"\xa1\x69NextToken\x61\xff",                         // not UTF-8
			"\xa1\x61a" + strings.Repeat("\x81", 100),           // nested too deeply
			"\xa1\x61a" + strings.Repeat("\xc1", 100_000),       // nested too deeply in tags
			"\xa1\x61a\x9a\xff\xff\xff\xff",                     // a list of 2^32-1 items
			"\xa1\x61a\x9b\xff\xff\xff\xff\xff\xff\xff\xff",     // a list of 2^64-1 items
			"\xa1\x61a\x9a\x00\x02\x00\x00" + strings.Repeat("\xf6", 1<<17),
		},
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, body := range bodies[protocol] {
			r := a.raw(t, protocol, "DescribeGameSessions", []byte(body))
			if r.Status != 400 || r.Code() != "SerializationException" {
				t.Errorf("%.40q: got %d %v", body, r.Status, r.Body)
			}
			if text, _ := r.Body["message"].(string); strings.Contains(text, "Go ") || len(text) > 300 {
				t.Errorf("%.40q: text %q", body, text)
			}
		}
	})
}

func TestAPIPanicIsAnswered(t *testing.T) {
	a := newAPI(t, func(o *Options) { o.Log = o.Log.Level(5) })
	a.fake.hook = func(context.Context) error { panic("boom") }
	inBoth(t, func(t *testing.T, protocol string) {
		in := members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}
		r := a.call(t, protocol, "CreateGameSession", in).Want(t, 500, "InternalServiceException")
		if strings.Contains(string(r.Raw), "boom") {
			t.Errorf("the response shows the panic: %s", r.Raw)
		}
		// After a panic, the next attempt with the same invocation id is not blocked.
		for range 2 {
			a.call(t, protocol, "CreateGameSession", in, "Amz-Sdk-Invocation-Id", "i").Want(t, 500, "InternalServiceException")
		}
	})
	if a.options.Errors.Load() != 6 || a.options.Requests.Load() != 6 {
		t.Errorf("counted %d errors of %d", a.options.Errors.Load(), a.options.Requests.Load())
	}
}

func TestAPIAuthenticatorSeam(t *testing.T) {
	var got Caller
	known := errors.New("known")
	a := newAPI(t, func(o *Options) {
		o.Fault = func(declared string, err error) *Fault {
			if declared == "" && errors.Is(err, known) {
				return Throttled("known")
			}
			return nil
		}
		o.Authenticator = func(r *http.Request) (Proof, error) {
			got = claimed(r)
			switch got.AccessKey {
			case "AKIDBAD":
				return nil, BadRequest("UnrecognizedClientException", "no such key")
			case "AKIDBUG":
				return nil, errors.New("bug")
			case "AKIDKNOWN":
				return nil, known
			}
			return Anyone(r)
		}
	})
	header := func(key string) string {
		return "AWS4-HMAC-SHA256 Credential=" + key + "/20260301/eu-west-1/gamelift/aws4_request, SignedHeaders=host, Signature=00"
	}
	a.call(t, "json", "ListFleets", members{}, "Authorization", header("AKIDGOOD")).OK(t)
	if got != (Caller{AccessKey: "AKIDGOOD", Region: "eu-west-1"}) {
		t.Errorf("got caller %v", got)
	}
	// Authentication is checked before the operation.
	a.call(t, "cbor", "NoSuchThing", members{}, "Authorization", header("AKIDBAD")).Want(t, 400, "UnrecognizedClientException")
	a.call(t, "json", "ListFleets", members{}, "Authorization", header("AKIDBUG")).Want(t, 500, "InternalServiceException")
	a.call(t, "json", "CreateGameSession", members{}, "Authorization", header("AKIDKNOWN")).Want(t, 400, throttled)
	for _, odd := range []string{"", "Bearer x", "AWS4-HMAC-SHA256 Credential=a/b", "Credential=////////", "Credential=" + strings.Repeat("/", 9999)} {
		a.call(t, "json", "ListFleets", members{}, "Authorization", odd).OK(t)
		if got != (Caller{}) {
			t.Errorf("%.40q: got caller %v", odd, got)
		}
	}
}

// With DNS rebinding, a web page has the same origin as the API, so the browser sends no preflight request.
func TestWebPagesDoNotCallWithoutKeys(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		if r := a.call(t, protocol, "ListFleets", members{}, "Origin", "http://rebound.example"); r.Status != 400 || r.Code() != accessDenied {
			t.Errorf("answered %d %v", r.Status, r.Body)
		}
	})
}
